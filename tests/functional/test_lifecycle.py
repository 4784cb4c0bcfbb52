"""A package through its life, on a real API server."""

from __future__ import annotations

import threading

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.report import Action
from tests.functional import manifests

pytestmark = pytest.mark.plane

STORED = {objects.PREFIX + "readiness": "created"}


def actions(report):
    return {row.ref.name: row.action for row in report.rows}


def ref(kind, namespace, name, group=""):
    return ObjectRef(group, kind, namespace, name)


def test_a_package_is_instantiated_and_terminated(
    cluster, namespace, packed, deadline, unique, traces
):
    """All is current at the return, and nothing is left (TK-3, TK-4)."""
    package = packed(
        manifests.deployment("web", 2), manifests.config_map("settings")
    )
    life = {"namespace": namespace, "deadline": deadline}

    report = k8s_cr.instantiate(cluster, unique, package, **life)

    assert {"web": Action.CREATED, "settings": Action.CREATED} == (
        actions(report)
    )
    web = cluster.get(ref("Deployment", namespace, "web", "apps"))
    assert 2 == web["status"]["availableReplicas"]
    assert {"current"} == {
        row.verdict.state.value
        for row in k8s_cr.status(cluster, unique, **life).rows
    }

    k8s_cr.terminate(cluster, unique, **life)

    assert [] == traces(unique, namespace)
    with pytest.raises(errors.InstanceUnknown):
        k8s_cr.status(cluster, unique, **life)


def test_a_definition_and_its_resource_come_in_one_package(
    cluster, namespace, packed, deadline, unique, traces
):
    """In any order of the file; they go together (P3, P4, TK-21)."""
    group = f"{unique}.example.org"
    package = packed(
        manifests.custom(group, "Thing", "one", STORED, size="xl"),
        manifests.definition(group, "Thing"),
    )
    life = {"namespace": namespace, "deadline": deadline}

    k8s_cr.instantiate(cluster, unique, package, **life)

    assert cluster.get(ref("Thing", namespace, "one", group))
    k8s_cr.terminate(cluster, unique, **life)
    assert [] == traces(unique, namespace)


def test_a_refusal_half_way_leaves_nothing(
    cluster, namespace, packed, deadline, unique, traces
):
    """A resource can only be checked when its definition is there."""
    group = f"{unique}.example.org"
    package = packed(
        manifests.definition(group, "Thing"),
        manifests.config_map("settings"),
        manifests.custom(group, "Thing", "one", STORED, size="too long"),
    )

    with pytest.raises(errors.Rejected, match="size") as caught:
        k8s_cr.instantiate(
            cluster, unique, package, namespace=namespace, deadline=deadline
        )

    assert () == caught.value.written
    assert [] == traces(unique, namespace)


def test_change_brings_in_the_new_and_prunes_the_old(
    cluster, namespace, packed, deadline, unique
):
    """What did not change is not written (T6, TK-6)."""
    life = {"namespace": namespace, "deadline": deadline}
    same = manifests.config_map("same")
    k8s_cr.instantiate(
        cluster,
        unique,
        packed(same, manifests.config_map("old"), manifests.config_map("c")),
        **life,
    )
    before = cluster.get(ref("ConfigMap", namespace, "same"))

    report = k8s_cr.change(
        cluster,
        unique,
        packed(
            same,
            manifests.config_map("new"),
            manifests.config_map("c", key="other"),
        ),
        **life,
    )

    assert {
        "same": Action.UNCHANGED,
        "c": Action.CONFIGURED,
        "new": Action.CREATED,
        "old": Action.DELETED,
    } == actions(report)
    assert before == cluster.get(ref("ConfigMap", namespace, "same"))
    assert cluster.get(ref("ConfigMap", namespace, "old")) is None
    k8s_cr.terminate(cluster, unique, **life)


def test_scale_to_three_to_zero_and_a_change_that_keeps_it(
    cluster, namespace, packed, deadline, unique
):
    """Applying a package again never changes a number (P7, D-rows)."""
    life = {"namespace": namespace, "deadline": deadline}
    package = packed(manifests.deployment("web", 1))
    web = ref("Deployment", namespace, "web", "apps")
    k8s_cr.instantiate(cluster, unique, package, **life)

    for number in (3, 0, 2):
        k8s_cr.scale(cluster, unique, {web: number}, **life)
        status = cluster.get(web)["status"]
        assert number == status.get("availableReplicas", 0)

    k8s_cr.change(cluster, unique, package, **life)

    assert 2 == cluster.get(web)["spec"]["replicas"]
    k8s_cr.terminate(cluster, unique, **life)


def test_what_has_no_number_cannot_be_scaled(
    cluster, namespace, packed, deadline, unique
):
    """It is refused, and nothing is written (T11)."""
    life = {"namespace": namespace, "deadline": deadline}
    k8s_cr.instantiate(
        cluster, unique, packed(manifests.config_map("a")), **life
    )

    with pytest.raises(errors.NotScalable, match="no number of replicas"):
        k8s_cr.scale(
            cluster, unique, {ref("ConfigMap", namespace, "a"): 2}, **life
        )

    k8s_cr.terminate(cluster, unique, **life)


def test_an_operation_that_died_is_taken_up(
    cluster, namespace, packed, deadline, unique
):
    """The next run owns what the first had written, and doubles nothing."""
    life = {"namespace": namespace, "deadline": deadline}
    package = packed(
        manifests.config_map("settings"), manifests.deployment("web")
    )

    class Killed(BaseException):
        """Nobody catches it, as nobody catches a signal."""

    def die(progress):
        if progress.awaited:
            raise Killed

    with pytest.raises(Killed):
        k8s_cr.instantiate(cluster, unique, package, listen=die, **life)
    before = cluster.get(ref("ConfigMap", namespace, "settings"))

    report = k8s_cr.instantiate(cluster, unique, package, **life)

    after = cluster.get(ref("ConfigMap", namespace, "settings"))
    assert before["metadata"]["uid"] == after["metadata"]["uid"]
    assert Action.UNCHANGED == actions(report)["settings"]
    k8s_cr.terminate(cluster, unique, **life)


def test_an_operation_that_died_can_be_terminated(
    cluster, namespace, packed, deadline, unique, traces
):
    """What was written between the journal and the end is found."""
    life = {"namespace": namespace, "deadline": deadline}
    package = packed(
        manifests.config_map("settings"), manifests.deployment("web")
    )

    class Killed(BaseException):
        """Nobody catches it, as nobody catches a signal."""

    def die(progress):
        if progress.awaited:
            raise Killed

    with pytest.raises(Killed):
        k8s_cr.instantiate(cluster, unique, package, listen=die, **life)

    k8s_cr.terminate(cluster, unique, **life)

    assert [] == traces(unique, namespace)


def test_an_instance_is_not_made_twice(
    cluster, namespace, packed, deadline, unique
):
    """A second instantiate says in which state the first one is."""
    life = {"namespace": namespace, "deadline": deadline}
    package = packed(manifests.config_map("a"))
    k8s_cr.instantiate(cluster, unique, package, **life)

    with pytest.raises(errors.InstanceExists, match="is instantiated"):
        k8s_cr.instantiate(cluster, unique, package, **life)

    k8s_cr.terminate(cluster, unique, **life)


def test_a_package_may_bring_the_namespace_of_its_record(
    cluster, packed, deadline, unique, traces
):
    """It is made first and goes last (design of the record)."""
    package = packed(
        manifests.config_map("a"),
        manifests.config_map("b", unique),
        manifests.namespace(unique),
    )
    life = {"namespace": unique, "deadline": deadline}

    k8s_cr.instantiate(cluster, unique, package, **life)
    k8s_cr.terminate(cluster, unique, **life)

    assert cluster.get(ref("Namespace", "", unique)) is None
    assert [] == traces(unique, unique)


def test_objects_of_others_are_not_taken_away_with_a_namespace(
    cluster, packed, deadline, unique
):
    """Terminate names them and deletes nothing (P19)."""
    life = {"namespace": unique, "deadline": deadline}
    k8s_cr.instantiate(
        cluster, unique, packed(manifests.namespace(unique)), **life
    )
    cluster.create(manifests.config_map("theirs", unique), "somebody")

    with pytest.raises(errors.WouldBeLost) as caught:
        k8s_cr.terminate(cluster, unique, **life)

    assert [ref("ConfigMap", unique, "theirs")] == list(caught.value.others)
    theirs = cluster.get(ref("ConfigMap", unique, "theirs"))
    cluster.delete(
        ref("ConfigMap", unique, "theirs"), theirs["metadata"]["uid"]
    )
    k8s_cr.terminate(cluster, unique, **life)


def test_objects_of_others_are_not_taken_away_with_a_definition(
    cluster, namespace, packed, deadline, unique
):
    """A kind that others use by now is not pulled away (P19)."""
    group = f"{unique}.example.org"
    life = {"namespace": namespace, "deadline": deadline}
    k8s_cr.instantiate(
        cluster, unique, packed(manifests.definition(group, "Thing")), **life
    )
    other = manifests.custom(group, "Thing", "theirs")
    other["metadata"]["namespace"] = namespace
    made = cluster.create(other, "somebody")

    with pytest.raises(errors.WouldBeLost, match="theirs"):
        k8s_cr.terminate(cluster, unique, **life)

    cluster.delete(ObjectRef.of(made), made["metadata"]["uid"])
    k8s_cr.terminate(cluster, unique, **life)


def test_an_object_that_is_going_is_waited_for(
    cluster, namespace, packed, deadline, unique
):
    """A new one takes its place, as soon as it is free."""
    held = manifests.config_map("a", namespace, key="old")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    made = cluster.create(held, "somebody")
    going = ref("ConfigMap", namespace, "a")
    cluster.delete(going, objects.uid(made))
    released = threading.Timer(
        1.0,
        lambda: cluster.patch(
            going, {"metadata": {"finalizers": None}}, "somebody"
        ),
    )
    released.start()
    life = {"namespace": namespace, "deadline": deadline}

    report = k8s_cr.instantiate(
        cluster, unique, packed(manifests.config_map("a", key="new")), **life
    )

    released.join()
    assert {"a": Action.CREATED} == actions(report)
    assert {"key": "new"} == cluster.get(going)["data"]
    k8s_cr.terminate(cluster, unique, **life)
