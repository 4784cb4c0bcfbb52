"""Server-side apply, on whatever claims to be a cluster."""

from __future__ import annotations

import itertools

import pytest

from tacker_k8s_cr import objects
from tacker_k8s_cr import ownership
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.errors import Conflict
from tacker_k8s_cr.errors import KindUnknown
from tacker_k8s_cr.errors import NotYet
from tacker_k8s_cr.errors import Outdated
from tacker_k8s_cr.errors import Rejected
from tacker_k8s_cr.objects import ObjectRef
from tests.contracts.manifests import MANAGER
from tests.contracts.manifests import config_map
from tests.contracts.manifests import deployment
from tests.contracts.manifests import labelled
from tests.contracts.observing import SECONDS


def version(obj: objects.Manifest) -> str:
    return str(obj["metadata"]["resourceVersion"])


def test_an_apply_creates(cluster: Cluster, place: str) -> None:
    """What is not there is created, and the answer says so."""
    applied = cluster.apply(config_map(place, a="1"), MANAGER)

    assert applied.created
    assert {"a": "1"} == applied.obj["data"]
    assert objects.uid(applied.obj)


def test_applying_twice_changes_nothing(cluster: Cluster, place: str) -> None:
    """The second apply of the same manifest leaves the object as it was."""
    first = cluster.apply(config_map(place, a="1"), MANAGER)

    again = cluster.apply(config_map(place, a="1"), MANAGER)

    assert not again.created
    assert version(first.obj) == version(again.obj)


def test_a_change_makes_a_version(cluster: Cluster, place: str) -> None:
    """An apply that changes something leaves another resourceVersion."""
    first = cluster.apply(config_map(place, a="1"), MANAGER)

    second = cluster.apply(config_map(place, a="2"), MANAGER)

    assert version(first.obj) != version(second.obj)
    assert {"a": "2"} == second.obj["data"]


def test_an_empty_mapping_may_be_filled(cluster: Cluster, place: str) -> None:
    """What was applied empty holds, later, what is put into it."""
    empty = {**config_map(place), "data": {}}
    cluster.apply(empty, MANAGER)

    applied = cluster.apply(config_map(place, a="1"), MANAGER)

    assert {"a": "1"} == applied.obj["data"]


def test_what_is_left_out_goes(cluster: Cluster, place: str) -> None:
    """A field that only we owned goes when the next apply leaves it out."""
    cluster.apply(config_map(place, a="1", b="2"), MANAGER)

    applied = cluster.apply(config_map(place, a="1"), MANAGER)

    assert {"a": "1"} == applied.obj["data"]


def test_the_only_item_of_a_list_may_lose_its_name(
    cluster: Cluster, place: str
) -> None:
    """A port with a name is replaced by one without, and the other way."""

    def ports(*some: objects.Manifest) -> list[objects.Manifest]:
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": place},
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
    cluster: Cluster, place: str
) -> None:
    """A conflict names the field and who owns it (P8)."""
    cluster.apply(config_map(place, a="1"), "somebody")

    with pytest.raises(Conflict) as caught:
        cluster.apply(config_map(place, a="2"), MANAGER)

    assert {"data.a": "somebody"} == caught.value.fields
    assert "field data.a is owned by somebody" in str(caught.value)


def test_a_conflict_in_a_list_names_the_item(
    cluster: Cluster, place: str
) -> None:
    """A field of an item of a list is named by the item's name."""
    cluster.apply(deployment(place, 0), "somebody")
    other = deployment(place, 0)
    container = other["spec"]["template"]["spec"]["containers"][0]
    container["image"] = "registry.example.org/web:2"

    with pytest.raises(Conflict) as caught:
        cluster.apply(other, MANAGER)

    path = 'spec.template.spec.containers[name="web"].image'
    assert [path] == list(caught.value.fields)


def test_the_same_value_is_shared(cluster: Cluster, place: str) -> None:
    """A field of another manager with the value we want is no conflict."""
    cluster.apply(config_map(place, a="1"), "somebody")

    applied = cluster.apply(config_map(place, a="1", b="2"), MANAGER)

    assert not applied.created
    assert {"a": "1", "b": "2"} == applied.obj["data"]


def test_force_takes_a_field_over(cluster: Cluster, place: str) -> None:
    """With force, the field is ours, and its old owner conflicts with us."""
    cluster.apply(config_map(place, a="1"), "somebody")

    applied = cluster.apply(config_map(place, a="2"), MANAGER, force=True)

    assert {"a": "2"} == applied.obj["data"]
    with pytest.raises(Conflict) as caught:
        cluster.apply(config_map(place, a="3"), "somebody")
    assert {"data.a": MANAGER} == caught.value.fields


def test_a_bare_apply_gives_our_fields_up(
    cluster: Cluster, place: str
) -> None:
    """The object without any field leaves what others own, and only that."""
    cluster.apply(config_map(place, a="1"), "somebody")
    ours = labelled(config_map(place, b="2"), mine="yes")
    cluster.apply(ours, MANAGER)
    bare = {**config_map(place)}
    del bare["data"]

    left = cluster.apply(bare, MANAGER).obj

    assert {"a": "1"} == left["data"]
    assert {} == objects.labels(left)
    managers = [
        entry["manager"] for entry in left["metadata"]["managedFields"]
    ]
    assert ["somebody"] == managers


def test_managers_are_shown(cluster: Cluster, place: str) -> None:
    """An object tells which manager applied which field."""
    obj = cluster.apply(deployment(place, 0), MANAGER).obj

    (ours,) = [
        entry
        for entry in obj["metadata"]["managedFields"]
        if entry["manager"] == MANAGER
    ]
    assert "Apply" == ours["operation"]
    assert {} == ours["fieldsV1"]["f:spec"]["f:replicas"]
    containers = ours["fieldsV1"]["f:spec"]["f:template"]["f:spec"]
    assert 'k:{"name":"web"}' in containers["f:containers"]


def test_the_right_uid_updates(cluster: Cluster, place: str) -> None:
    """An apply meant for this object changes this object."""
    first = cluster.apply(config_map(place, a="1"), MANAGER)

    second = cluster.apply(
        config_map(place, a="2"), MANAGER, uid=objects.uid(first.obj)
    )

    assert objects.uid(first.obj) == objects.uid(second.obj)
    assert {"a": "2"} == second.obj["data"]


def test_a_wrong_uid_is_outdated(cluster: Cluster, place: str) -> None:
    """An apply meant for another object of this name changes nothing."""
    cluster.apply(config_map(place, a="1"), MANAGER)

    with pytest.raises(Outdated):
        cluster.apply(config_map(place, a="2"), MANAGER, uid="0" * 36)

    obj = cluster.get(ObjectRef("", "ConfigMap", place, "one"))
    assert obj is not None
    assert {"a": "1"} == obj["data"]


def test_a_uid_creates_nothing(cluster: Cluster, place: str) -> None:
    """An apply meant for an object that is gone does not make another."""
    with pytest.raises(Outdated):
        cluster.apply(config_map(place, a="1"), MANAGER, uid="0" * 36)

    assert cluster.get(ObjectRef("", "ConfigMap", place, "one")) is None


def test_a_dry_run_writes_nothing(cluster: Cluster, place: str) -> None:
    """A dry run answers as the apply would, and leaves all as it was."""
    dry = cluster.apply(config_map(place, a="1"), MANAGER, dry_run=True)

    assert dry.created
    assert {"a": "1"} == dry.obj["data"]
    assert cluster.get(ObjectRef("", "ConfigMap", place, "one")) is None

    first = cluster.apply(config_map(place, a="1"), MANAGER)
    dry = cluster.apply(config_map(place, a="2"), MANAGER, dry_run=True)

    assert not dry.created
    assert {"a": "2"} == dry.obj["data"]
    obj = cluster.get(ObjectRef("", "ConfigMap", place, "one"))
    assert obj is not None
    assert version(first.obj) == version(obj)


def test_generation_counts_changes_of_spec(
    cluster: Cluster, place: str
) -> None:
    """A new label makes no generation, another number of replicas does."""
    first = cluster.apply(deployment(place, 0), MANAGER)
    label = cluster.apply(labelled(deployment(place, 0), a="1"), MANAGER)
    spec = cluster.apply(labelled(deployment(place, 1), a="1"), MANAGER)

    numbers = [objects.generation(each.obj) for each in (first, label, spec)]
    assert [1, 1, 2] == numbers


def test_a_missing_namespace_is_not_yet(cluster: Cluster, unique: str) -> None:
    """What a later stage may bring is told from what is wrong."""
    with pytest.raises(NotYet) as caught:
        cluster.apply(config_map(unique, a="1"), MANAGER)

    assert unique in str(caught.value)


def test_a_namespaced_object_needs_its_namespace(cluster: Cluster) -> None:
    """A manifest that leaves its namespace open is not sent anywhere."""
    manifest = config_map("", a="1")
    del manifest["metadata"]["namespace"]

    with pytest.raises(Rejected, match="namespace is required"):
        cluster.apply(manifest, MANAGER)


def test_an_object_may_name_no_namespace_that_it_cannot_have(
    cluster: Cluster, unique: str
) -> None:
    """Its kind has none: another object than the one that is meant."""
    manifest = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": unique, "namespace": "default"},
        "value": 1,
    }

    with pytest.raises(Rejected, match="has no namespaces"):
        cluster.apply(manifest, MANAGER)


def test_a_kind_nobody_serves(cluster: Cluster, place: str) -> None:
    """A kind that the server does not have is named."""
    manifest = {
        **config_map(place),
        "apiVersion": "example.org/v1",
        "kind": "Nonesuch",
    }

    with pytest.raises(KindUnknown, match=r"Nonesuch\.example\.org v1"):
        cluster.apply(manifest, MANAGER)


def test_a_version_that_is_not_served(cluster: Cluster, place: str) -> None:
    """A version that the server does not have is refused with those it has."""
    manifest = {**deployment(place, 0), "apiVersion": "apps/v1beta1"}

    with pytest.raises(KindUnknown) as caught:
        cluster.apply(manifest, MANAGER)

    assert ("v1",) == caught.value.served
    assert "is served at v1, not at v1beta1" in str(caught.value)


def test_who_made_an_object_shows_in_its_times(
    cluster: Cluster, place: str
) -> None:
    """The Apply entry of who made it is as old as the object, and stays so."""
    manifest = config_map(place, a="1")

    made = cluster.apply(manifest, MANAGER).obj
    again = cluster.apply(manifest, MANAGER).obj

    assert ownership.made_by(made, MANAGER)
    assert ownership.made_by(again, MANAGER)


def test_who_joined_an_object_shows_in_its_times(
    cluster: Cluster, place: str
) -> None:
    """The Apply entry of who came later is younger than the object."""
    manifest = config_map(place, a="1")
    theirs = cluster.apply(manifest, "them").obj
    _second_passes(cluster, theirs)

    joined = cluster.apply(labelled(manifest, x="y"), MANAGER).obj

    assert not ownership.made_by(joined, MANAGER)
    assert ownership.made_by(joined, "them")


def _second_passes(cluster: Cluster, obj: objects.Manifest) -> None:
    """Times are in whole seconds of the server's clock."""
    place = obj["metadata"]["namespace"]
    deadline = Deadline.after(SECONDS)
    for number in itertools.count():
        assert not deadline.passed
        other = cluster.create(config_map(place, f"n{number}"), MANAGER)
        times = [
            each["metadata"]["creationTimestamp"] for each in (obj, other)
        ]
        if times[0] != times[1]:
            return
