"""What an instance owns and others use is not taken away from them."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.state import record_secrets
from tests.fakes import FakeCluster
from tests.fakes.workloads import play_deployments
from tests.functional import manifests

COMMON = ObjectRef("", "ConfigMap", "default", "common")


def package(*names):
    made = (manifests.config_map(name) for name in names)
    return Package("test", tuple(Document(m, "a.yaml") for m in made))


@pytest.fixture
def cluster():
    return FakeCluster(controller=play_deployments)


@pytest.fixture
def operation_args():
    return {"deadline": Deadline.never()}


def test_a_change_keeps_shared_objects(cluster, operation_args):
    """The owner keeps them until no instance uses them."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), package("common", "a")
    )
    lcm.instantiate(
        lcm.Request(cluster, "two", **operation_args), package("common", "b")
    )

    report = lcm.change(
        lcm.Request(cluster, "one", **operation_args), package("a")
    )

    row = next(row for row in report.objects if row.ref == COMMON)
    assert (Action.RETAINED, ("used by the instance two",)) == (
        row.action,
        row.notes,
    )
    assert cluster.get(COMMON) is not None
    lcm.terminate(lcm.Request(cluster, "two", **operation_args))
    lcm.terminate(lcm.Request(cluster, "one", **operation_args))
    assert cluster.get(COMMON) is None


def test_the_operator_of_a_shared_definition_stays(cluster, operation_args):
    """A definition is of no use to them without its operator."""
    group = "test.example.org"
    served = manifests.definition(group, "Thing")
    operator = manifests.deployment("operator", serviceAccountName="a")
    account = manifests.config_map("account")
    account.update(kind="ServiceAccount", metadata={"name": "a"})
    del account["data"]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "things"},
        "rules": [
            {"apiGroups": [group], "resources": ["things"], "verbs": ["*"]}
        ],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "things"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "things",
        },
        "subjects": [
            {"kind": "ServiceAccount", "name": "a", "namespace": "default"}
        ],
    }
    whole = (served, operator, account, role, binding)
    first = Package("test", tuple(Document(m, "a.yaml") for m in whole))
    second = Package("test", (Document(served, "a.yaml"),))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), first)
    lcm.instantiate(lcm.Request(cluster, "two", **operation_args), second)

    report = lcm.change(
        lcm.Request(cluster, "one", **operation_args), package("a")
    )

    kept = {r.ref.kind for r in report.objects if r.action is Action.RETAINED}
    assert {m["kind"] for m in whole} == kept


def test_a_rollback_keeps_shared_objects(cluster, operation_args):
    """Though the change that is rolled back has created them."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), package("a")
    )
    lcm.change(
        lcm.Request(cluster, "one", **operation_args), package("common", "a")
    )
    lcm.instantiate(
        lcm.Request(cluster, "two", **operation_args), package("common", "b")
    )

    report = lcm.roll_back(lcm.Request(cluster, "one", **operation_args))

    kept = next(row for row in report.objects if row.ref == COMMON)
    assert (Action.RETAINED, "used by the instance two") == (
        kept.action,
        kept.verdict.reason,
    )
    assert cluster.get(COMMON) is not None


def test_a_deleted_shared_object_is_not_reported_as_current(
    cluster, operation_args
):
    """The status reports that it does not exist."""
    cluster.create(manifests.config_map("common", "default"), "other-manager")
    lcm.instantiate(
        lcm.Request(cluster, "two", **operation_args), package("common", "b")
    )
    cluster.delete(COMMON, objects.uid(cluster.get(COMMON)))

    report = lcm.status(lcm.Request(cluster, "two", **operation_args))

    row = next(row for row in report.objects if row.ref == COMMON)
    assert (Action.SHARED, State.FAILED) == (row.action, row.verdict.state)


# -- An end that takes long --------------------------------------------------

GROUP = "test.example.org"
DEFINED = ObjectRef(
    "apiextensions.k8s.io",
    "CustomResourceDefinition",
    "",
    f"things.{GROUP}",
)
ONE = ObjectRef(GROUP, "Thing", "default", "one")


def things(*names, held=False):
    """The definition, and some of its kind."""
    made = [manifests.definition(GROUP, "Thing")]
    for name in names:
        created = {objects.PREFIX + "readiness": "exists"}
        manifest = manifests.custom(GROUP, "Thing", name, created)
        if held:
            manifest["metadata"]["finalizers"] = ["example.org/hold"]
        made.append(manifest)
    return Package("test", tuple(Document(m, "a.yaml") for m in made))


def release_finalizers(cluster):
    cluster.patch(ONE, {"metadata": {"finalizers": None}}, "controller")


def test_no_instance_begins_to_share_with_a_terminating_one(
    cluster, operation_args
):
    """It would lose the object, and with a definition all of its objects.

    An instance that shared it before continues to, and may change meanwhile.
    """
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), things("one", held=True)
    )
    lcm.instantiate(
        lcm.Request(cluster, "two", **operation_args), package("b")
    )
    lcm.instantiate(
        lcm.Request(cluster, "three", **operation_args), things("three")
    )
    refused = []

    def meanwhile(progress):
        if ONE in progress.awaited and not refused:
            with pytest.raises(errors.OwnedByOther) as caught:
                lcm.change(
                    lcm.Request(cluster, "two", **operation_args),
                    things("two"),
                )
            refused.append(str(caught.value))
            lcm.change(
                lcm.Request(cluster, "three", **operation_args),
                things("three", "more"),
            )
            release_finalizers(cluster)

    report = lcm.terminate(
        lcm.Request(cluster, "one", on_progress=meanwhile, **operation_args)
    )

    (said,) = refused
    assert f"{DEFINED}: exists already and belongs to" in said
    assert "the instance one, which is being terminated" in said
    assert "its record is in namespace default, last written at 2" in said
    assert "run terminate again" in said
    assert [DEFINED] == [
        row.ref for row in report.objects if row.action is Action.RETAINED
    ]
    assert cluster.get(ObjectRef(GROUP, "Thing", "default", "more"))


def test_objects_shared_during_a_long_change_are_retained(cluster):
    """It is asked again before anything is deleted."""
    now = [0.0]
    life = {"deadline": Deadline.after(3000, lambda: now[0])}
    lcm.instantiate(
        lcm.Request(cluster, "one", **life), package("common", "a", "b")
    )
    begun = []

    def meanwhile(progress):
        if not begun and progress.awaited:
            begun.append(
                lcm.instantiate(
                    lcm.Request(cluster, "two", deadline=Deadline.never()),
                    package("common"),
                )
            )
            now[0] += execute.RECHECK_AFTER

    report = lcm.change(
        lcm.Request(cluster, "one", on_progress=meanwhile, **life),
        package("c"),
    )

    row = next(row for row in report.objects if row.ref == COMMON)
    assert (Action.RETAINED, ("used by the instance two",)) == (
        row.action,
        row.notes,
    )
    assert cluster.get(COMMON)
    assert None is cluster.get(ObjectRef("", "ConfigMap", "default", "a"))
    lcm.terminate(lcm.Request(cluster, "two", **life))
    lcm.terminate(lcm.Request(cluster, "one", **life))
    assert None is cluster.get(COMMON)


def test_an_owner_that_begins_to_end_meanwhile_is_noticed(
    cluster, operation_args
):
    """When the record is written, and before anything else is."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), things("one")
    )
    ending = []

    class Late:
        """The owner records its termination just after the record was read."""

        def __getattr__(self, name):
            return getattr(cluster, name)

        def with_deadline(self, deadline):
            return self

        def create(self, manifest, manager):
            if not ending:
                head = record_secrets.secret_ref("one", "default")
                said = {objects.PREFIX + record_secrets.TERMINATING: "true"}
                cluster.patch(head, {"metadata": {"annotations": said}}, "t")
                ending.append(head)
            return cluster.create(manifest, manager)

    with pytest.raises(errors.OwnedByOther, match="which is being terminated"):
        lcm.instantiate(
            lcm.Request(Late(), "two", **operation_args), things("two")
        )

    assert None is cluster.get(ObjectRef(GROUP, "Thing", "default", "two"))
    assert None is cluster.get(record_secrets.secret_ref("two", "default"))


@pytest.mark.parametrize("delete_foreign_objects", [False, True])
def test_objects_created_during_a_long_terminate_are_not_deleted(
    cluster, delete_foreign_objects
):
    """A definition is deleted last, long after the first read.

    An object collected after its owner does not count as foreign.
    """
    now = [0.0]
    life = {"deadline": Deadline.after(3000, lambda: now[0])}
    lcm.instantiate(
        lcm.Request(cluster, "one", **life), things("one", held=True)
    )
    theirs = ObjectRef(GROUP, "Thing", "default", "theirs")

    def meanwhile(progress):
        if ONE in progress.awaited and not cluster.get(theirs):
            now[0] += execute.RECHECK_AFTER
            for name, owners in (("theirs", []), ("below", [GONE])):
                thing = manifests.custom(GROUP, "Thing", name)
                metadata = {"namespace": "default", "ownerReferences": owners}
                thing["metadata"].update(metadata)
                cluster.create(thing, "other-manager")
            release_finalizers(cluster)

    options = Options(delete_foreign_objects=delete_foreign_objects)

    def terminated():
        lcm.terminate(
            lcm.Request(
                cluster, "one", on_progress=meanwhile, options=options, **life
            )
        )

    if delete_foreign_objects:
        terminated()
        assert None is cluster.get(DEFINED)
        return
    with pytest.raises(errors.ForeignObjects) as caught:
        terminated()
    assert {theirs} == set(caught.value.others)
    assert cluster.get(DEFINED)
    cluster.delete(theirs, objects.uid(cluster.get(theirs)))
    below = ObjectRef(GROUP, "Thing", "default", "below")
    cluster.delete(below, objects.uid(cluster.get(below)))
    terminated()


GONE = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "Thing",
    "name": "gone",
    "uid": "of-one-that-is-gone",
}
