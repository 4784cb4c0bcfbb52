"""What an instance owns and others use is not taken away from them."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.package.model import Document
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.report import Action
from tests.fakes import FakeCluster
from tests.functional import manifests
from tests.unit.test_operations import play_deployments

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
