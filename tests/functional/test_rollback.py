"""What a rollback restores, on a real API server."""

from __future__ import annotations

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kinds import policy
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.state import store
from tests.functional import manifests
from tests.functional.test_cluster_api import CAPI
from tests.functional.test_cluster_api import SAMPLE
from tests.functional.test_cluster_api import with_text

pytestmark = pytest.mark.plane

STORED = {objects.PREFIX + "readiness": "exists"}
BROKEN = {objects.PREFIX + "failed-when": "spec.size=bad"}
"""Of an object that fails as soon as it is there: no test has to wait."""


def ref(kind, namespace, name, group=""):
    return ObjectRef(group, kind, namespace, name)


def names(cluster, kind, namespace, selector=objects.INSTANCE):
    return {
        obj["metadata"]["name"]
        for obj in cluster.list_metadata(kind, namespace, selector)
    }


def test_an_instantiation_that_ended_early_is_undone(
    make_request, namespace, make_package, unique_name, leftover_objects
):
    """Nothing is left, and it can be tried again."""
    group = f"{unique_name}.example.org"
    package = make_package(
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "silent", BROKEN, size="bad"),
        manifests.deployment("web", 1),
    )
    with pytest.raises(errors.ObjectsFailed):
        k8s_cr.instantiate(make_request(), package)

    report = k8s_cr.roll_back(make_request())

    assert {Action.DELETED} == {row.action for row in report.objects}
    assert [] == leftover_objects(unique_name, namespace)
    with pytest.raises(errors.InstanceNotFound):
        k8s_cr.roll_back(make_request())


@pytest.mark.requirement("D7")
def test_a_scale_that_ended_early_gets_the_number_from_before(
    cluster, namespace, make_package, make_request, unique_name
):
    """And the instance is at rest again."""
    group = f"{unique_name}.example.org"
    thing = ref("Thing", namespace, "one", group)
    most = {
        objects.PREFIX + "ready-when": "spec.replicas",
        objects.PREFIX + "failed-when": "spec.replicas=5|7",
    }
    k8s_cr.instantiate(
        make_request(),
        make_package(
            manifests.definition(group, "Thing"),
            manifests.custom(group, "Thing", "one", most, replicas=2),
        ),
    )
    for number in (5, 7):  # the second tries again, with another number
        with pytest.raises(errors.ObjectsFailed):
            k8s_cr.scale(make_request(), {thing: number})

    k8s_cr.roll_back(make_request())

    assert 2 == cluster.get(thing)["spec"]["replicas"]
    assert "instantiated" == k8s_cr.status(make_request()).phase
    assert () == k8s_cr.roll_back(make_request()).objects


@pytest.mark.requirement("P22")
def test_a_change_that_ended_early_is_undone(
    cluster, namespace, make_package, make_request, unique_name
):
    """As it was: made goes, changed and pruned come back.

    Definitions of the failed change go too, and numbers stay.
    """
    old, new = (
        f"old.{unique_name}.example.org",
        f"new.{unique_name}.example.org",
    )
    former = make_package(
        manifests.definition(old, "Thing"),
        manifests.custom(old, "Thing", "one", STORED, size="s"),
        manifests.deployment("web", 1),
        manifests.config_map("same"),
        manifests.config_map("settings", key="old"),
        manifests.config_map("pruned", key="kept"),
    )
    k8s_cr.instantiate(make_request(), former)
    web = ref("Deployment", namespace, "web", "apps")
    k8s_cr.scale(make_request(), {web: 3})
    before = cluster.get(web)["spec"]["template"]
    failing = make_package(
        manifests.definition(old, "Thing"),
        manifests.custom(old, "Thing", "one", STORED, size="xl"),
        manifests.deployment("web", 1, terminationGracePeriodSeconds=5),
        manifests.config_map("same"),
        manifests.config_map("settings", key="new"),
        manifests.config_map("added"),
        manifests.definition(new, "Thing"),
        manifests.custom(new, "Thing", "silent", BROKEN, size="bad"),
    )
    with pytest.raises(errors.ObjectsFailed, match="silent"):
        k8s_cr.change(make_request(), failing)

    report = k8s_cr.roll_back(make_request())

    maps = names(cluster, GroupKind("", "ConfigMap"), namespace)
    assert {"same", "settings", "pruned"} == maps
    settings = cluster.get(ref("ConfigMap", namespace, "settings"))
    assert "old" == settings["data"]["key"]
    definition = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
    found = names(cluster, definition, "")
    assert f"things.{old}" in found
    assert f"things.{new}" not in found
    one = cluster.get(ref("Thing", namespace, "one", old))
    assert "s" == one["spec"]["size"]
    assert before == cluster.get(web)["spec"]["template"]
    assert 3 == cluster.get(web)["spec"]["replicas"]
    assert "instantiated" == report.phase
    assert {"current"} == {row.verdict.state.value for row in report.objects}
    owned = store.read(cluster, unique_name, namespace).inventory.owned
    assert 6 == len(owned)

    k8s_cr.change(make_request(), make_package(manifests.config_map("last")))


@pytest.mark.requirement("E7")
def test_a_completed_change_is_undone_once(
    cluster, namespace, make_package, make_request
):
    """What was pruned comes back; to repeat it does nothing."""
    first = make_package(manifests.config_map("a"), name="first")
    second = make_package(manifests.config_map("b"), name="second")
    kind = GroupKind("", "ConfigMap")
    k8s_cr.instantiate(make_request(), first)
    k8s_cr.change(make_request(), second)

    k8s_cr.roll_back(make_request())

    assert {"a"} == names(cluster, kind, namespace)
    assert () == k8s_cr.roll_back(make_request()).objects
    assert {"a"} == names(cluster, kind, namespace)


def test_an_idle_instance_rolls_back_to_the_named_package_only(
    cluster, namespace, make_package, make_request
):
    """A refused change leaves nothing to undo, and undoes no other."""
    first = make_package(manifests.config_map("a"), name="first")
    second = make_package(manifests.config_map("b"), name="second")
    third = make_package(manifests.config_map("c"), name="third")
    kind = GroupKind("", "ConfigMap")
    k8s_cr.instantiate(make_request(), first)
    k8s_cr.change(make_request(), second)

    assert () == k8s_cr.roll_back(make_request(), package=second).objects
    with pytest.raises(
        errors.RequestInvalid, match="was not the previous package"
    ):
        k8s_cr.roll_back(make_request(), package=third)
    assert {"b"} == names(cluster, kind, namespace)
    k8s_cr.roll_back(make_request(), package=first)
    assert {"a"} == names(cluster, kind, namespace)
    assert () == k8s_cr.roll_back(make_request(), package=first).objects


@pytest.mark.requirement("P22")
def test_unrestorable_objects_are_named_and_the_others_restored(
    cluster, namespace, make_package, make_request
):
    """A name taken by another client, for example; a retry finds it free."""
    first = make_package(
        manifests.config_map("gone"), manifests.config_map("back"), name="a"
    )
    k8s_cr.instantiate(make_request(), first)
    k8s_cr.change(
        make_request(), make_package(manifests.config_map("b"), name="b")
    )
    theirs = manifests.config_map("gone", namespace, key="theirs")
    cluster.create(theirs, "other-manager")

    with pytest.raises(
        errors.RollbackIncomplete, match="gone: could not be"
    ) as got:
        k8s_cr.roll_back(make_request())

    kind = GroupKind("", "ConfigMap")
    gone = ref("ConfigMap", namespace, "gone")
    assert [gone] == list(got.value.reasons)
    assert {"back"} == names(cluster, kind, namespace)
    assert "theirs" == cluster.get(gone)["data"]["key"]
    cluster.delete(gone, objects.uid(cluster.get(gone)))

    k8s_cr.roll_back(make_request())

    assert {"back", "gone"} == names(cluster, kind, namespace)


@pytest.mark.requirement("P22")
def test_what_stays_as_it_is_keeps_what_it_needs(
    cluster, namespace, make_package, make_request, unique_name
):
    """Though the change has created it, and all else is deleted.

    The second try ends, and its report lists what differs from before.
    """
    group = f"{unique_name}.example.org"
    definition = manifests.definition(group, "Thing")
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spec = schema["properties"]["spec"]
    text = {"type": "string", "maxLength": 9}
    spec["properties"]["uses"] = {
        "type": "object",
        "properties": {"kind": text, "name": text},
    }
    spec["x-kubernetes-validations"] = [
        {"rule": "size(self.size) >= size(oldSelf.size)", "message": "grows"}
    ]

    def package(size, used, *more, name):
        uses = {"kind": "ConfigMap", "name": used}
        thing = manifests.custom(
            group, "Thing", "one", STORED, size=size, uses=uses
        )
        found = manifests.config_map(used)
        return make_package(definition, thing, found, *more, name=name)

    k8s_cr.instantiate(make_request(), package("s", "old", name="a"))
    more = manifests.config_map("more")
    k8s_cr.change(make_request(), package("xl", "new", more, name="b"))

    with pytest.raises(errors.RollbackIncomplete, match="grows"):
        k8s_cr.roll_back(make_request())

    kind = GroupKind("", "ConfigMap")
    assert {"old", "new"} == names(cluster, kind, namespace)
    thing = cluster.get(ref("Thing", namespace, "one", group))
    assert "xl" == thing["spec"]["size"]
    report = k8s_cr.roll_back(make_request())
    why = {
        row.ref.name: row.verdict.reason
        for row in report.objects
        if row.action is Action.RETAINED
    }
    assert {"one", "new"} == set(why)
    assert "grows" in why["one"]
    assert "which was not rolled back" in why["new"]
    assert "instantiated" == report.phase


def test_an_object_that_a_change_adopted_is_released(
    cluster, namespace, make_package, make_request
):
    """It existed before, so it stays, and belongs to no instance."""
    theirs = manifests.config_map("theirs", namespace, key="theirs")
    cluster.create(theirs, "other-manager")
    found = ref("ConfigMap", namespace, "theirs")
    k8s_cr.instantiate(
        make_request(), make_package(manifests.config_map("a"), name="a")
    )
    changed = make_package(
        manifests.config_map("theirs", key="theirs", more="ours"), name="b"
    )
    k8s_cr.change(
        make_request(options=k8s_cr.Options(adopt=frozenset({found}))), changed
    )

    report = k8s_cr.roll_back(make_request())

    assert Action.ORPHANED in {row.action for row in report.objects}
    left = cluster.get(found)
    assert {"key": "theirs"} == left["data"]
    assert objects.INSTANCE not in objects.labels(left)
    k8s_cr.terminate(make_request())
    assert cluster.get(found)


def test_an_object_that_an_instantiation_adopted_is_released(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
):
    """All else goes, with the record."""
    theirs = manifests.config_map("theirs", namespace, key="theirs")
    cluster.create(theirs, "other-manager")
    found = ref("ConfigMap", namespace, "theirs")
    group = f"{unique_name}.example.org"
    package = make_package(
        manifests.config_map("theirs", key="theirs", more="ours"),
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "silent", BROKEN, size="bad"),
    )
    with pytest.raises(errors.ObjectsFailed):
        k8s_cr.instantiate(
            make_request(options=k8s_cr.Options(adopt=frozenset({found}))),
            package,
        )

    k8s_cr.roll_back(make_request())

    assert {"key": "theirs"} == cluster.get(found)["data"]
    assert [] == leftover_objects(unique_name, namespace)


@pytest.mark.requirement("P22")
def test_a_rollback_of_a_scale_names_the_deleted_object(
    cluster, namespace, make_package, make_request, unique_name
):
    """The other objects have their numbers."""
    group = f"{unique_name}.example.org"
    k8s_cr.instantiate(
        make_request(),
        make_package(
            manifests.definition(group, "Thing"),
            manifests.custom(group, "Thing", "one", STORED, replicas=2),
            manifests.deployment("web", 1, nodeName="none"),
        ),
        policy=policy.from_dict(
            {"readiness": [{"of": "Deployment.apps", "readiness": "exists"}]}
        ),
    )
    web = ref("Deployment", namespace, "web", "apps")
    thing = ref("Thing", namespace, "one", group)

    def remove(progress):
        if progress.stage == "replicas" and (live := cluster.get(web)):
            cluster.delete(web, objects.uid(live))

    with pytest.raises(errors.Error, match="not found"):
        k8s_cr.scale(make_request(on_progress=remove), {thing: 3, web: 2})

    with pytest.raises(
        errors.RollbackIncomplete, match=r"web: .* no longer exists in"
    ):
        k8s_cr.roll_back(make_request())

    assert 2 == cluster.get(thing)["spec"]["replicas"]


@pytest.mark.capi
def test_a_cluster_is_rolled_back_to_its_former_templates(
    cluster, namespace, unique_name, leftover_objects, make_request
):
    """By their names, with the machines it had."""

    def machines():
        return names(cluster, GroupKind(CAPI, "Machine"), namespace, "")

    package = k8s_cr.load(SAMPLE)
    k8s_cr.instantiate(make_request(timeout=240), package)
    templates = GroupKind(f"infrastructure.{CAPI}", "DevMachineTemplate")
    before = names(cluster, templates, namespace), machines()
    # Its machines would never start, so that none of the former goes.
    changed = with_text(package, "2s", "24h")
    with pytest.raises(errors.ReadinessTimeout):
        k8s_cr.change(make_request(timeout=15), changed)
    assert before[0] < names(cluster, templates, namespace)

    k8s_cr.roll_back(make_request(timeout=240))

    assert before == (names(cluster, templates, namespace), machines())
    k8s_cr.terminate(make_request(timeout=240))
    assert [] == leftover_objects(unique_name, namespace)
