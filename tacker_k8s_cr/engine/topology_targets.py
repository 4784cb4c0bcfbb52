"""Objects that a topology generates for its entries, found by label and owner.

Their names have a random suffix, so they cannot be computed beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.topology_replicas import TopologyReplicas
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory

_CONTROL_PLANE = ("spec", "controlPlaneRef")


def scale_targets_by_vdu(
    cluster: Cluster, inventory: Inventory
) -> Iterator[tuple[str, ObjectRef, Manifest | None]]:
    """Yield each VDU's id, its scale target and the object that holds it.

    None instead of an object that was deleted or recreated.
    """
    owners = {
        vdu: topology_replicas.cluster_ref(ref)
        for vdu, ref in inventory.vdus.items()
    }
    for vdu, obj in results_or_raise(
        cluster.map_parallel(lambda vdu: cluster.get(owners[vdu]), owners)
    ):
        if obj and objects.uid(obj) != inventory.owned.get(owners[vdu]):
            obj = None
        yield vdu, inventory.vdus[vdu], obj


def scale_target_of(
    cluster: Cluster, obj: Manifest, entry: TopologyReplicas
) -> Manifest | None:
    """Return the object that was generated from an entry, or None.

    :param obj: the Cluster.
    """
    kind = entry.group_kind
    if kind is None:
        ref = contract.resolve_reference(obj, _CONTROL_PLANE)
        return cluster.get(ref) if ref else None
    namespace = entry.cluster.namespace
    for found in cluster.list_objects(kind, namespace, entry.selector):
        if objects.uid(obj) in _owners(found):
            return found
    return None


def _owners(obj: Manifest) -> set[str]:
    listed = fields.mappings(obj, ("metadata", "ownerReferences"))
    return {fields.text(reference, ("uid",)) for reference in listed}
