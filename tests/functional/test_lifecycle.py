"""The life cycle of a package, on a real API server."""

from __future__ import annotations

import threading

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tests.functional import manifests
from tests.functional.kill_after_write import Killed
from tests.functional.kill_after_write import kill_when_waiting

pytestmark = pytest.mark.plane

STORED = {objects.PREFIX + "readiness": "exists"}


def actions(report):
    return {row.ref.name: row.action for row in report.objects}


def ref(kind, namespace, name, group=""):
    return ObjectRef(group, kind, namespace, name)


@pytest.mark.requirement("TK-3", "TK-4", "A1", "F2", "M4", "XO-11")
def test_a_package_is_instantiated_and_terminated(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
):
    """All is current at the return, and nothing is left."""
    package = make_package(
        manifests.deployment("web", 2), manifests.config_map("settings")
    )

    report = k8s_cr.instantiate(make_request(), package)

    assert {"web": Action.CREATED, "settings": Action.CREATED} == (
        actions(report)
    )
    web = cluster.get(ref("Deployment", namespace, "web", "apps"))
    assert 2 == web["status"]["availableReplicas"]
    assert {"current"} == {
        row.verdict.state.value
        for row in k8s_cr.status(make_request()).objects
    }

    k8s_cr.terminate(make_request())

    assert [] == leftover_objects(unique_name, namespace)
    with pytest.raises(errors.InstanceNotFound):
        k8s_cr.status(make_request())


@pytest.mark.requirement("TK-24", "P3", "B2")
def test_a_definition_and_its_resource_come_in_one_package(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
):
    """In any order of the file; they go together."""
    group = f"{unique_name}.example.org"
    package = make_package(
        manifests.custom(group, "Thing", "one", STORED, size="xl"),
        manifests.definition(group, "Thing"),
    )

    k8s_cr.instantiate(make_request(), package)

    assert cluster.get(ref("Thing", namespace, "one", group))
    k8s_cr.terminate(make_request())
    assert [] == leftover_objects(unique_name, namespace)


@pytest.mark.requirement("A1", "E8")
def test_a_refusal_half_way_leaves_nothing(
    make_request, namespace, make_package, unique_name, leftover_objects
):
    """A resource can only be checked when its definition is there."""
    group = f"{unique_name}.example.org"
    package = make_package(
        manifests.definition(group, "Thing"),
        manifests.config_map("settings"),
        manifests.custom(group, "Thing", "one", STORED, size="too long"),
    )

    with pytest.raises(errors.Rejected, match="size") as caught:
        k8s_cr.instantiate(make_request(), package)

    assert () == caught.value.written
    assert [] == leftover_objects(unique_name, namespace)


@pytest.mark.requirement("TK-6", "T6", "E2", "XO-13")
def test_change_brings_in_the_new_and_prunes_the_old(
    cluster, namespace, make_package, make_request
):
    """What did not change is not written."""
    same = manifests.config_map("same")
    k8s_cr.instantiate(
        make_request(),
        make_package(
            same, manifests.config_map("old"), manifests.config_map("c")
        ),
    )
    before = cluster.get(ref("ConfigMap", namespace, "same"))

    report = k8s_cr.change(
        make_request(),
        make_package(
            same,
            manifests.config_map("new"),
            manifests.config_map("c", key="other"),
        ),
    )

    assert {
        "same": Action.UNCHANGED,
        "c": Action.CONFIGURED,
        "new": Action.CREATED,
        "old": Action.DELETED,
    } == actions(report)
    assert before == cluster.get(ref("ConfigMap", namespace, "same"))
    assert cluster.get(ref("ConfigMap", namespace, "old")) is None
    k8s_cr.terminate(make_request())


def test_scale_to_three_to_zero_and_a_change_that_keeps_it(
    cluster, namespace, make_package, make_request
):
    """Applying a package again never changes a number."""
    package = make_package(manifests.deployment("web", 1))
    web = ref("Deployment", namespace, "web", "apps")
    k8s_cr.instantiate(make_request(), package)

    for number in (3, 0, 2):
        k8s_cr.scale(make_request(), {web: number})
        status = cluster.get(web)["status"]
        assert number == status.get("availableReplicas", 0)

    k8s_cr.change(make_request(), package)

    assert 2 == cluster.get(web)["spec"]["replicas"]
    k8s_cr.terminate(make_request())


@pytest.mark.requirement("T11")
def test_what_has_no_number_cannot_be_scaled(
    make_request, namespace, make_package
):
    """It is refused, and nothing is written."""
    k8s_cr.instantiate(make_request(), make_package(manifests.config_map("a")))

    with pytest.raises(errors.NotScalable, match="no replica count"):
        k8s_cr.scale(make_request(), {ref("ConfigMap", namespace, "a"): 2})

    k8s_cr.terminate(make_request())


@pytest.mark.requirement("CR-11")
def test_an_interrupted_operation_is_resumed(
    cluster, namespace, make_package, make_request
):
    """The next run owns what the first had written, and doubles nothing."""
    package = make_package(
        manifests.config_map("settings"), manifests.deployment("web")
    )

    with pytest.raises(Killed):
        k8s_cr.instantiate(
            make_request(on_progress=kill_when_waiting), package
        )
    before = cluster.get(ref("ConfigMap", namespace, "settings"))

    report = k8s_cr.instantiate(make_request(), package)

    after = cluster.get(ref("ConfigMap", namespace, "settings"))
    assert before["metadata"]["uid"] == after["metadata"]["uid"]
    assert Action.UNCHANGED == actions(report)["settings"]
    k8s_cr.terminate(make_request())


def test_an_interrupted_operation_can_be_terminated(
    make_request, namespace, make_package, unique_name, leftover_objects
):
    """What was written between the journal and the end is found."""
    package = make_package(
        manifests.config_map("settings"), manifests.deployment("web")
    )

    with pytest.raises(Killed):
        k8s_cr.instantiate(
            make_request(on_progress=kill_when_waiting), package
        )

    k8s_cr.terminate(make_request())

    assert [] == leftover_objects(unique_name, namespace)


def test_an_instance_is_not_made_twice(make_request, make_package):
    """A second instantiate reports the phase of the first one."""
    package = make_package(manifests.config_map("a"))
    k8s_cr.instantiate(make_request(), package)

    with pytest.raises(errors.InstanceExists, match="phase: instantiated"):
        k8s_cr.instantiate(make_request(), package)

    k8s_cr.terminate(make_request())


@pytest.mark.requirement("A4")
def test_a_package_may_bring_the_namespace_of_its_record(
    cluster, make_package, make_request, unique_name, leftover_objects
):
    """It is made first and goes last."""
    package = make_package(
        manifests.config_map("a"),
        manifests.config_map("b", unique_name),
        manifests.namespace(unique_name),
    )

    k8s_cr.instantiate(make_request(namespace=unique_name), package)
    k8s_cr.terminate(make_request(namespace=unique_name))

    assert cluster.get(ref("Namespace", "", unique_name)) is None
    assert [] == leftover_objects(unique_name, unique_name)


@pytest.mark.requirement("XO-23")
def test_foreign_objects_are_not_deleted_with_a_namespace(
    cluster, make_package, make_request, unique_name
):
    """Terminate names them and deletes nothing."""
    k8s_cr.instantiate(
        make_request(namespace=unique_name),
        make_package(manifests.namespace(unique_name)),
    )
    cluster.create(
        manifests.config_map("theirs", unique_name), "other-manager"
    )

    with pytest.raises(errors.ForeignObjects) as caught:
        k8s_cr.terminate(make_request(namespace=unique_name))

    assert [ref("ConfigMap", unique_name, "theirs")] == list(
        caught.value.others
    )
    theirs = cluster.get(ref("ConfigMap", unique_name, "theirs"))
    cluster.delete(
        ref("ConfigMap", unique_name, "theirs"), theirs["metadata"]["uid"]
    )
    k8s_cr.terminate(make_request(namespace=unique_name))


@pytest.mark.requirement("P19", "XO-23")
def test_foreign_objects_are_not_deleted_with_a_definition(
    cluster, namespace, make_package, make_request, unique_name
):
    """A kind that others use by now is not pulled away."""
    group = f"{unique_name}.example.org"
    k8s_cr.instantiate(
        make_request(), make_package(manifests.definition(group, "Thing"))
    )
    other = manifests.custom(group, "Thing", "theirs")
    other["metadata"]["namespace"] = namespace
    made = cluster.create(other, "other-manager")

    with pytest.raises(errors.ForeignObjects, match="theirs"):
        k8s_cr.terminate(make_request())

    cluster.delete(ObjectRef.of(made), made["metadata"]["uid"])
    k8s_cr.terminate(make_request())


def test_an_object_that_is_being_deleted_is_waited_for(
    cluster, namespace, make_package, make_request
):
    """A new one takes its place, as soon as it is free."""
    held = manifests.config_map("a", namespace, key="old")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    made = cluster.create(held, "other-manager")
    going = ref("ConfigMap", namespace, "a")
    cluster.delete(going, objects.uid(made))
    released = threading.Timer(
        1.0,
        lambda: cluster.patch(
            going, {"metadata": {"finalizers": None}}, "other-manager"
        ),
    )
    released.start()

    report = k8s_cr.instantiate(
        make_request(), make_package(manifests.config_map("a", key="new"))
    )

    released.join()
    assert {"a": Action.CREATED} == actions(report)
    assert {"key": "new"} == cluster.get(going)["data"]
    k8s_cr.terminate(make_request())
