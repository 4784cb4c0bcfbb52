"""What a topology makes of its entries, found by label and reference.

Its names have a random end, so that nobody can know them beforehand.
"""

from __future__ import annotations

from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.entries import Entry
from tacker_k8s_cr.objects import Manifest

_CONTROL_PLANE = ("spec", "controlPlaneRef")


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
