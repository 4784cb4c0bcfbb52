"""Server-side apply, on whatever claims to be a cluster."""

from __future__ import annotations

import itertools

import pytest

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import ownership
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import Conflict
from tacker_k8s_cr.model.errors import DependencyMissing
from tacker_k8s_cr.model.errors import FieldConflict
from tacker_k8s_cr.model.errors import KindNotServed
from tacker_k8s_cr.model.errors import Rejected
from tacker_k8s_cr.model.objects import ObjectRef
from tests.contracts.manifests import MANAGER
from tests.contracts.manifests import config_map
from tests.contracts.manifests import deployment
from tests.contracts.manifests import labelled
from tests.contracts.watch_events import SECONDS


def version(obj: objects.Manifest) -> str:
    return str(obj["metadata"]["resourceVersion"])


@pytest.mark.requirement("P6", "B6")
def test_an_apply_creates(cluster: Cluster, test_namespace: str) -> None:
    """A missing object is created, and the answer reports that."""
    applied = cluster.apply(config_map(test_namespace, a="1"), MANAGER)

    assert applied.created
    assert {"a": "1"} == applied.obj["data"]
    assert objects.uid(applied.obj)


def test_applying_twice_changes_nothing(
    cluster: Cluster, test_namespace: str
) -> None:
    """The second apply of the same manifest leaves the object as it was."""
    first = cluster.apply(config_map(test_namespace, a="1"), MANAGER)

    again = cluster.apply(config_map(test_namespace, a="1"), MANAGER)

    assert not again.created
    assert version(first.obj) == version(again.obj)


def test_a_change_makes_a_version(
    cluster: Cluster, test_namespace: str
) -> None:
    """An apply that changes something leaves another resourceVersion."""
    first = cluster.apply(config_map(test_namespace, a="1"), MANAGER)

    second = cluster.apply(config_map(test_namespace, a="2"), MANAGER)

    assert version(first.obj) != version(second.obj)
    assert {"a": "2"} == second.obj["data"]


def test_an_empty_mapping_may_be_filled(
    cluster: Cluster, test_namespace: str
) -> None:
    """What was applied empty holds, later, what is put into it."""
    empty = {**config_map(test_namespace), "data": {}}
    cluster.apply(empty, MANAGER)

    applied = cluster.apply(config_map(test_namespace, a="1"), MANAGER)

    assert {"a": "1"} == applied.obj["data"]


@pytest.mark.requirement("B6")
def test_an_omitted_field_is_removed(
    cluster: Cluster, test_namespace: str
) -> None:
    """A field that only we owned goes when the next apply leaves it out."""
    cluster.apply(config_map(test_namespace, a="1", b="2"), MANAGER)

    applied = cluster.apply(config_map(test_namespace, a="1"), MANAGER)

    assert {"a": "1"} == applied.obj["data"]


def test_the_only_item_of_a_list_may_lose_its_name(
    cluster: Cluster, test_namespace: str
) -> None:
    """A port with a name is replaced by one without, and the other way."""

    def ports(*some: objects.Manifest) -> list[objects.Manifest]:
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": test_namespace},
            "spec": {"ports": list(some)},
        }
        applied = cluster.apply(service, MANAGER)
        known = ("name", "port")
        return [
            {key: port[key] for key in known if key in port}
            for port in applied.obj["spec"]["ports"]
        ]

    named = {"name": "web", "port": 80}

    assert [named] == ports(named)
    assert [{"port": 80}] == ports({"port": 80})
    assert [named] == ports(named)


def test_another_managers_field_conflicts(
    cluster: Cluster, test_namespace: str
) -> None:
    """A conflict names the field and who owns it."""
    cluster.apply(config_map(test_namespace, a="1"), "other-manager")

    with pytest.raises(FieldConflict) as caught:
        cluster.apply(config_map(test_namespace, a="2"), MANAGER)

    assert {"data.a": "other-manager"} == caught.value.fields
    assert "field data.a is owned by other-manager" in str(caught.value)


def test_a_conflict_in_a_list_names_the_item(
    cluster: Cluster, test_namespace: str
) -> None:
    """A field of an item of a list is named by the item's name."""
    cluster.apply(deployment(test_namespace, 0), "other-manager")
    other = deployment(test_namespace, 0)
    container = other["spec"]["template"]["spec"]["containers"][0]
    container["image"] = "registry.example.org/web:2"

    with pytest.raises(FieldConflict) as caught:
        cluster.apply(other, MANAGER)

    path = 'spec.template.spec.containers[name="web"].image'
    assert [path] == list(caught.value.fields)


def test_the_same_value_is_shared(
    cluster: Cluster, test_namespace: str
) -> None:
    """A field of another manager with the applied value does not conflict."""
    cluster.apply(config_map(test_namespace, a="1"), "other-manager")

    applied = cluster.apply(config_map(test_namespace, a="1", b="2"), MANAGER)

    assert not applied.created
    assert {"a": "1", "b": "2"} == applied.obj["data"]


def test_force_takes_a_field_over(
    cluster: Cluster, test_namespace: str
) -> None:
    """Force transfers the field to us; its old owner then conflicts."""
    cluster.apply(config_map(test_namespace, a="1"), "other-manager")

    applied = cluster.apply(
        config_map(test_namespace, a="2"), MANAGER, force=True
    )

    assert {"a": "2"} == applied.obj["data"]
    with pytest.raises(FieldConflict) as caught:
        cluster.apply(config_map(test_namespace, a="3"), "other-manager")
    assert {"data.a": MANAGER} == caught.value.fields


def test_a_bare_apply_releases_the_managers_fields(
    cluster: Cluster, test_namespace: str
) -> None:
    """The object without any field leaves what others own, and only that."""
    cluster.apply(config_map(test_namespace, a="1"), "other-manager")
    ours = labelled(config_map(test_namespace, b="2"), mine="yes")
    cluster.apply(ours, MANAGER)
    bare = {**config_map(test_namespace)}
    del bare["data"]

    left = cluster.apply(bare, MANAGER).obj

    assert {"a": "1"} == left["data"]
    assert {} == objects.labels(left)
    managers = [
        entry["manager"] for entry in left["metadata"]["managedFields"]
    ]
    assert ["other-manager"] == managers


@pytest.mark.requirement("P6", "B6")
def test_managers_are_shown(cluster: Cluster, test_namespace: str) -> None:
    """managedFields show which manager applied which field."""
    obj = cluster.apply(deployment(test_namespace, 0), MANAGER).obj

    (ours,) = [
        entry
        for entry in obj["metadata"]["managedFields"]
        if entry["manager"] == MANAGER
    ]
    assert "Apply" == ours["operation"]
    assert {} == ours["fieldsV1"]["f:spec"]["f:replicas"]
    containers = ours["fieldsV1"]["f:spec"]["f:template"]["f:spec"]
    assert 'k:{"name":"web"}' in containers["f:containers"]


def test_the_right_uid_updates(cluster: Cluster, test_namespace: str) -> None:
    """An apply meant for this object changes this object."""
    first = cluster.apply(config_map(test_namespace, a="1"), MANAGER)

    second = cluster.apply(
        config_map(test_namespace, a="2"), MANAGER, uid=objects.uid(first.obj)
    )

    assert objects.uid(first.obj) == objects.uid(second.obj)
    assert {"a": "2"} == second.obj["data"]


def test_a_wrong_uid_is_outdated(
    cluster: Cluster, test_namespace: str
) -> None:
    """An apply meant for another object of this name changes nothing."""
    cluster.apply(config_map(test_namespace, a="1"), MANAGER)

    with pytest.raises(Conflict):
        cluster.apply(config_map(test_namespace, a="2"), MANAGER, uid="0" * 36)

    obj = cluster.get(ObjectRef("", "ConfigMap", test_namespace, "one"))
    assert obj is not None
    assert {"a": "1"} == obj["data"]


def test_a_uid_creates_nothing(cluster: Cluster, test_namespace: str) -> None:
    """An apply meant for a deleted object does not create another."""
    with pytest.raises(Conflict):
        cluster.apply(config_map(test_namespace, a="1"), MANAGER, uid="0" * 36)

    assert (
        cluster.get(ObjectRef("", "ConfigMap", test_namespace, "one")) is None
    )


def test_a_dry_run_writes_nothing(
    cluster: Cluster, test_namespace: str
) -> None:
    """A dry run answers as the apply would, and leaves all as it was."""
    dry = cluster.apply(
        config_map(test_namespace, a="1"), MANAGER, dry_run=True
    )

    assert dry.created
    assert {"a": "1"} == dry.obj["data"]
    assert (
        cluster.get(ObjectRef("", "ConfigMap", test_namespace, "one")) is None
    )

    first = cluster.apply(config_map(test_namespace, a="1"), MANAGER)
    dry = cluster.apply(
        config_map(test_namespace, a="2"), MANAGER, dry_run=True
    )

    assert not dry.created
    assert {"a": "2"} == dry.obj["data"]
    obj = cluster.get(ObjectRef("", "ConfigMap", test_namespace, "one"))
    assert obj is not None
    assert version(first.obj) == version(obj)


def test_generation_counts_changes_of_spec(
    cluster: Cluster, test_namespace: str
) -> None:
    """A new label makes no generation, another number of replicas does."""
    first = cluster.apply(deployment(test_namespace, 0), MANAGER)
    label = cluster.apply(
        labelled(deployment(test_namespace, 0), a="1"), MANAGER
    )
    spec = cluster.apply(
        labelled(deployment(test_namespace, 1), a="1"), MANAGER
    )

    numbers = [objects.generation(each.obj) for each in (first, label, spec)]
    assert [1, 1, 2] == numbers


def test_a_missing_namespace_is_not_yet(
    cluster: Cluster, unique_name: str
) -> None:
    """A kind that a later stage may define is distinguished from an error."""
    with pytest.raises(DependencyMissing) as caught:
        cluster.apply(config_map(unique_name, a="1"), MANAGER)

    assert unique_name in str(caught.value)


def test_a_namespaced_object_needs_its_namespace(cluster: Cluster) -> None:
    """A manifest that leaves its namespace open is not sent anywhere."""
    manifest = config_map("", a="1")
    del manifest["metadata"]["namespace"]

    with pytest.raises(Rejected, match="namespace is required"):
        cluster.apply(manifest, MANAGER)


def test_an_object_may_name_no_namespace_that_it_cannot_have(
    cluster: Cluster, unique_name: str
) -> None:
    """Its kind has none: another object than the one that is meant."""
    manifest = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": unique_name, "namespace": "default"},
        "value": 1,
    }

    with pytest.raises(Rejected, match="has no namespaces"):
        cluster.apply(manifest, MANAGER)


def test_a_kind_that_is_not_served(
    cluster: Cluster, test_namespace: str
) -> None:
    """A kind that the server does not have is named."""
    manifest = {
        **config_map(test_namespace),
        "apiVersion": "example.org/v1",
        "kind": "Nonesuch",
    }

    with pytest.raises(KindNotServed, match=r"Nonesuch\.example\.org v1"):
        cluster.apply(manifest, MANAGER)


def test_a_version_that_is_not_served(
    cluster: Cluster, test_namespace: str
) -> None:
    """A version that the server does not have is refused with those it has."""
    manifest = {**deployment(test_namespace, 0), "apiVersion": "apps/v1beta1"}

    with pytest.raises(KindNotServed) as caught:
        cluster.apply(manifest, MANAGER)

    assert ("v1",) == caught.value.served
    assert "is served at v1, not at v1beta1" in str(caught.value)


def test_the_creator_of_an_object_shows_in_its_times(
    cluster: Cluster, test_namespace: str
) -> None:
    """The Apply entry of who made it is as old as the object, and stays so."""
    manifest = config_map(test_namespace, a="1")

    made = cluster.apply(manifest, MANAGER).obj
    again = cluster.apply(manifest, MANAGER).obj

    assert ownership.created_by_manager(made, MANAGER)
    assert ownership.created_by_manager(again, MANAGER)


def test_a_later_manager_of_an_object_shows_in_its_times(
    cluster: Cluster, test_namespace: str
) -> None:
    """The Apply entry of who came later is younger than the object."""
    manifest = config_map(test_namespace, a="1")
    theirs = cluster.apply(manifest, "them").obj
    _second_passes(cluster, theirs)

    joined = cluster.apply(labelled(manifest, x="y"), MANAGER).obj

    assert not ownership.created_by_manager(joined, MANAGER)
    assert ownership.created_by_manager(joined, "them")


def _second_passes(cluster: Cluster, obj: objects.Manifest) -> None:
    """Times are in whole seconds of the server's clock."""
    place = obj["metadata"]["namespace"]
    deadline = Deadline.after(SECONDS)
    for number in itertools.count():
        assert not deadline.expired
        other = cluster.create(config_map(place, f"n{number}"), MANAGER)
        times = [
            each["metadata"]["creationTimestamp"] for each in (obj, other)
        ]
        if times[0] != times[1]:
            return
