"""What an instance owns and others use is not taken away from them."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.lcm import carry
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.package.model import Document
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.report import Action
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
def life():
    return {"deadline": Deadline.never()}


def test_a_change_keeps_what_others_share(cluster, life):
    """It goes on to be the owner's, until nobody uses it (P20)."""
    lcm.instantiate(cluster, "one", package("common", "a"), **life)
    lcm.instantiate(cluster, "two", package("common", "b"), **life)

    report = lcm.change(cluster, "one", package("a"), **life)

    row = next(row for row in report.rows if row.ref == COMMON)
    assert (Action.KEPT, ("used by the instance two",)) == (
        row.action,
        row.notes,
    )
    assert cluster.get(COMMON) is not None
    lcm.terminate(cluster, "two", **life)
    lcm.terminate(cluster, "one", **life)
    assert cluster.get(COMMON) is None


def test_with_what_others_share_stays_what_serves_it(cluster, life):
    """A definition is of no use to them without its operator (P20)."""
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
    lcm.instantiate(cluster, "one", first, **life)
    lcm.instantiate(cluster, "two", second, **life)

    report = lcm.change(cluster, "one", package("a"), **life)

    kept = {r.ref.kind for r in report.rows if r.action is Action.KEPT}
    assert {m["kind"] for m in whole} == kept


def test_a_rollback_keeps_what_others_share(cluster, life):
    """Though the change that is taken back has made it (P20, P22)."""
    lcm.instantiate(cluster, "one", package("a"), **life)
    lcm.change(cluster, "one", package("common", "a"), **life)
    lcm.instantiate(cluster, "two", package("common", "b"), **life)

    report = lcm.roll_back(cluster, "one", **life)

    kept = next(row for row in report.rows if row.ref == COMMON)
    assert (Action.KEPT, "used by the instance two") == (
        kept.action,
        kept.verdict.reason,
    )
    assert cluster.get(COMMON) is not None


def test_what_was_shared_and_is_gone_is_not_said_to_be_current(cluster, life):
    """Whoever looks at the status is told (P20)."""
    cluster.create(manifests.config_map("common", "default"), "somebody")
    lcm.instantiate(cluster, "two", package("common", "b"), **life)
    cluster.delete(COMMON, objects.uid(cluster.get(COMMON)))

    report = lcm.status(cluster, "two", **life)

    row = next(row for row in report.rows if row.ref == COMMON)
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
        created = {objects.PREFIX + "readiness": "created"}
        manifest = manifests.custom(GROUP, "Thing", name, created)
        if held:
            manifest["metadata"]["finalizers"] = ["example.org/hold"]
        made.append(manifest)
    return Package("test", tuple(Document(m, "a.yaml") for m in made))


def let_go(cluster):
    cluster.patch(ONE, {"metadata": {"finalizers": None}}, "controller")


def test_nobody_begins_to_share_with_an_instance_that_ends(cluster, life):
    """He would lose it, and with a definition all that is his (P20, F4).

    Who shared it before goes on to, and may change meanwhile.
    """
    lcm.instantiate(cluster, "one", things("one", held=True), **life)
    lcm.instantiate(cluster, "two", package("b"), **life)
    lcm.instantiate(cluster, "three", things("three"), **life)
    refused = []

    def meanwhile(progress):
        if ONE in progress.awaited and not refused:
            with pytest.raises(errors.Owned) as caught:
                lcm.change(cluster, "two", things("two"), **life)
            refused.append(str(caught.value))
            lcm.change(cluster, "three", things("three", "more"), **life)
            let_go(cluster)

    report = lcm.terminate(cluster, "one", listen=meanwhile, **life)

    (said,) = refused
    assert f"{DEFINED}: exists already and belongs to" in said
    assert "the instance one, which is being terminated" in said
    assert "its record is in the namespace default, last written at 2" in said
    assert "terminate it again" in said
    assert [DEFINED] == [
        row.ref for row in report.rows if row.action is Action.KEPT
    ]
    assert cluster.get(ObjectRef(GROUP, "Thing", "default", "more"))


def test_what_others_share_during_a_long_change_is_kept(cluster):
    """It is asked again before anything is deleted (P20)."""
    now = [0.0]
    life = {"deadline": Deadline.after(3000, lambda: now[0])}
    lcm.instantiate(cluster, "one", package("common", "a", "b"), **life)
    begun = []

    def meanwhile(progress):
        if not begun and progress.awaited:
            begun.append(
                lcm.instantiate(
                    cluster,
                    "two",
                    package("common"),
                    deadline=Deadline.never(),
                )
            )
            now[0] += carry.AGAIN

    report = lcm.change(cluster, "one", package("c"), listen=meanwhile, **life)

    row = next(row for row in report.rows if row.ref == COMMON)
    assert (Action.KEPT, ("used by the instance two",)) == (
        row.action,
        row.notes,
    )
    assert cluster.get(COMMON)
    assert None is cluster.get(ObjectRef("", "ConfigMap", "default", "a"))
    lcm.terminate(cluster, "two", **life)
    lcm.terminate(cluster, "one", **life)
    assert None is cluster.get(COMMON)


def test_an_owner_that_begins_to_end_meanwhile_is_noticed(cluster, life):
    """When the record is written, and before anything else is (P20)."""
    lcm.instantiate(cluster, "one", things("one"), **life)
    ending = []

    class Late:
        """The owner says that it ends just after it was asked."""

        def __getattr__(self, name):
            return getattr(cluster, name)

        def until(self, deadline):
            return self

        def create(self, manifest, manager):
            if not ending:
                head = record.secret_ref("one", "default")
                said = {objects.PREFIX + record.ENDS: "true"}
                cluster.patch(head, {"metadata": {"annotations": said}}, "t")
                ending.append(head)
            return cluster.create(manifest, manager)

    with pytest.raises(errors.Owned, match="which is being terminated"):
        lcm.instantiate(Late(), "two", things("two"), **life)

    assert None is cluster.get(ObjectRef(GROUP, "Thing", "default", "two"))
    assert None is cluster.get(record.secret_ref("two", "default"))


@pytest.mark.parametrize("lose_others", [False, True])
def test_what_came_during_a_long_end_is_not_taken_along(cluster, lose_others):
    """A definition goes last, long after the first look (P17, F4).

    What is collected after its owner is not taken for somebody's.
    """
    now = [0.0]
    life = {"deadline": Deadline.after(3000, lambda: now[0])}
    lcm.instantiate(cluster, "one", things("one", held=True), **life)
    theirs = ObjectRef(GROUP, "Thing", "default", "theirs")

    def meanwhile(progress):
        if ONE in progress.awaited and not cluster.get(theirs):
            now[0] += carry.AGAIN
            for name, owners in (("theirs", []), ("below", [GONE])):
                thing = manifests.custom(GROUP, "Thing", name)
                metadata = {"namespace": "default", "ownerReferences": owners}
                thing["metadata"].update(metadata)
                cluster.create(thing, "somebody")
            let_go(cluster)

    options = Options(lose_others=lose_others)

    def terminated():
        lcm.terminate(
            cluster, "one", listen=meanwhile, options=options, **life
        )

    if lose_others:
        terminated()
        assert None is cluster.get(DEFINED)
        return
    with pytest.raises(errors.WouldBeLost) as caught:
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
