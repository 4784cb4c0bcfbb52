"""Whether a finalizer will be removed, by the state of its controller."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.wait.diagnostics.blocking_finalizers import Remover
from tacker_k8s_cr.wait.diagnostics.finalizer_owners import FinalizerDiagnosis
from tests.functional import manifests

HOLD = "example.org/hold"
ASKED = "2026-01-01T00:00:10Z"
BEFORE = "2026-01-01T00:00:00Z"
AFTER = "2026-01-01T00:00:20Z"


def deleting_object(kind="Thing", group="example.org", setter="", time=BEFORE):
    """An object being deleted; a field manager has set its finalizer."""
    path = {"f:metadata": {"f:finalizers": {f'v:"{HOLD}"': {}}}}
    entry = {"manager": setter, "time": time, "fieldsV1": path}
    return {
        "apiVersion": f"{group}/v1" if group else "v1",
        "kind": kind,
        "metadata": {
            "name": "x",
            "namespace": "default",
            "uid": "u",
            "finalizers": [HOLD],
            "deletionTimestamp": ASKED,
            "managedFields": [entry] if setter else [],
        },
    }


def lease(name, renewed):
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"holderIdentity": "far", "renewTime": renewed},
    }


def remover(cluster, obj):
    (hold,) = FinalizerDiagnosis(cluster).find_blocking(obj)
    return hold.remover


def test_a_missing_controller_blocks_the_deletion(cluster):
    """Be it from the manifest, or set by a manager of before."""
    assert Remover.MISSING is remover(cluster, deleting_object())
    assert Remover.MISSING is remover(
        cluster, deleting_object(setter="router")
    )


@pytest.mark.parametrize(
    ("kind", "group"), [("Service", ""), ("Ingress", "networking.k8s.io")]
)
def test_what_a_cloud_adds_to_kinds_of_kubernetes(cluster, kind, group):
    """Its controller often runs outside of the cluster."""
    assert Remover.UNKNOWN is remover(
        cluster, deleting_object(kind, group, setter="cloud")
    )
    assert Remover.MISSING is remover(cluster, deleting_object(kind, group))


def test_a_manager_that_wrote_since_works_somewhere(cluster):
    """After the deletion was requested."""
    obj = deleting_object(setter="router", time=AFTER)

    assert Remover.UNKNOWN is remover(cluster, obj)


def test_a_lease_that_is_renewed_shows_life(cluster):
    """Of a controller whose workload is not in this cluster."""
    cluster.create(lease("other", "2026-01-01T01:00:00.000000Z"), "tests")
    cluster.create(lease("router-lead", "2026-01-01T00:59:50.000000Z"), "t")
    cluster.create(lease("switch-lead", "2026-01-01T00:10:00.000000Z"), "t")

    assert Remover.UNKNOWN is remover(
        cluster, deleting_object(setter="router")
    )
    assert Remover.MISSING is remover(
        cluster, deleting_object(setter="switch")
    )


def test_roles_that_may_not_be_listed_hide_controllers(cluster):
    """They would be known by their rights."""
    kind = GroupKind("rbac.authorization.k8s.io", "ClusterRole")
    cluster.fail(errors.Forbidden("list", "clusterroles", "", "no"), "", kind)

    assert Remover.UNKNOWN is remover(cluster, deleting_object())


def test_one_controller_of_two_is_enough(cluster):
    """The other is its stand-in, or of another name by chance."""
    for name, there in (("hold", 0), ("other", 1)):
        manifest = manifests.deployment(name)
        manifest["metadata"]["namespace"] = "default"
        container = manifest["spec"]["template"]["spec"]["containers"][0]
        container["name"] = "hold"
        obj = cluster.create(manifest, "tests")
        cluster.report(
            ObjectRef.of(obj), {"availableReplicas": there, "replicas": there}
        )

    found = list(FinalizerDiagnosis(cluster).find_blocking(deleting_object()))

    assert [Remover.RUNNING, Remover.RUNNING] == [
        hold.remover for hold in found
    ]
