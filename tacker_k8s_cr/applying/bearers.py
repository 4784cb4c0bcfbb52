"""What a topology makes of its entries, found by label and reference.

Its names have a random end, so that nobody can know them beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator

from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.kinds import entries
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.entries import Entry
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef

_CONTROL_PLANE = ("spec", "controlPlaneRef")


def of_vdus(
    cluster: Cluster, inventory: Inventory
) -> Iterator[tuple[str, ObjectRef, Manifest | None]]:
    """Of each VDU its id, what bears its number, and the object of that.

    None in the place of one that is gone, or is another by now.
    """
    owners = {vdu: entries.owner(ref) for vdu, ref in inventory.vdus.items()}
    for vdu, obj in raised(
        cluster.each(lambda vdu: cluster.get(owners[vdu]), owners)
    ):
        if obj and objects.uid(obj) != inventory.owned.get(owners[vdu]):
            obj = None
        yield vdu, inventory.vdus[vdu], obj


def of(cluster: Cluster, obj: Manifest, entry: Entry) -> Manifest | None:
    """The object that bears the number of an entry; None if there is none.

    :param obj: the Cluster.
    """
    kind = entry.group_kind
    if kind is None:
        ref = contract.referred(obj, _CONTROL_PLANE)
        return cluster.get(ref) if ref else None
    namespace = entry.cluster.namespace
    for found in cluster.list_objects(kind, namespace, entry.selector):
        if objects.uid(obj) in _owners(found):
            return found
    return None


def _owners(obj: Manifest) -> set[str]:
    listed = reading.items(obj, ("metadata", "ownerReferences"))
    return {reading.text(reference, ("uid",)) for reference in listed}
