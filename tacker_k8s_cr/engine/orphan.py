"""Orphan the objects that outlive their instance."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import functools

from tacker_k8s_cr.engine import owner_references
from tacker_k8s_cr.engine.conflicts import retry_on_conflict
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef


def orphan(
    cluster: Cluster,
    kept: Mapping[ObjectRef, str],
    manager: str,
    guard: Callable[[], None] = lambda: None,
) -> frozenset[ObjectRef]:
    """Remove the label and field ownership of the instance from objects.

    Field values stay, and the next manager to apply them owns them. Returns
    the objects that exist: recreated ones are not changed.

    :param kept: with UIDs.
    """

    def one(ref: ObjectRef) -> bool:
        obj = cluster.get_metadata(ref)
        if obj is None or objects.uid(obj) != kept[ref]:
            return False
        guard()
        cluster.patch(ref, _without_mark(obj, manager), manager)
        return True

    def retried(ref: ObjectRef) -> bool:
        return retry_on_conflict(functools.partial(one, ref))

    outcomes = results_or_raise(cluster.map_parallel(retried, sorted(kept)))
    return frozenset(ref for ref, there in outcomes if there)


def _without_mark(obj: Manifest, manager: str) -> Manifest:
    metadata = obj["metadata"]
    entries = [
        entry
        for entry in metadata.get("managedFields") or ()
        if entry.get("manager") != manager
    ]
    return {
        "metadata": {
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
            "labels": {objects.INSTANCE: None},
            # An empty list would leave them as they are; one empty entry
            # means none (the server's rule for resetting them).
            "managedFields": entries or [{}],
        }
    }


def dependents_to_be_collected(
    cluster: Cluster,
    kept: Collection[ObjectRef],
    going: Mapping[ObjectRef, str],
) -> dict[ObjectRef, ObjectRef]:
    """What would go with its owner although it is to be kept: by object."""
    uids = {uid: ref for ref, uid in going.items()}
    found = {}
    for ref, obj in results_or_raise(
        cluster.map_parallel(cluster.get_metadata, sorted(kept))
    ):
        owners = owner_references.owners(obj) if obj else {}
        taken = [uids[uid] for uid in owners if uid in uids]
        # What has an owner that stays is not collected.
        if taken and len(taken) == len(owners):
            found[ref] = taken[0]
    return found
