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
    retained: Mapping[ObjectRef, str],
    manager: str,
    guard: Callable[[], None] = lambda: None,
) -> frozenset[ObjectRef]:
    """Remove the label and field ownership of the instance from objects.

    Field values stay, and the next manager to apply them owns them. Returns
    the objects that exist: recreated ones are not changed.

    :param retained: with UIDs.
    """

    def orphan_once(ref: ObjectRef) -> bool:
        obj = cluster.get_metadata(ref)
        if obj is None or objects.uid(obj) != retained[ref]:
            return False
        guard()
        cluster.patch(ref, _removal_patch(obj, manager), manager)
        return True

    def orphan_with_retry(ref: ObjectRef) -> bool:
        return retry_on_conflict(functools.partial(orphan_once, ref))

    outcomes = results_or_raise(
        cluster.map_parallel(orphan_with_retry, sorted(retained))
    )
    return frozenset(ref for ref, exists in outcomes if exists)


def _removal_patch(obj: Manifest, manager: str) -> Manifest:
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
            # An empty list would not change them; one empty entry
            # resets them (the server's rule).
            "managedFields": entries or [{}],
        }
    }


def find_collected_dependents(
    cluster: Cluster,
    retained: Collection[ObjectRef],
    deleting: Mapping[ObjectRef, str],
) -> dict[ObjectRef, ObjectRef]:
    """Return retained objects whose owners are being deleted, by object."""
    uids = {uid: ref for ref, uid in deleting.items()}
    collected = {}
    for ref, obj in results_or_raise(
        cluster.map_parallel(cluster.get_metadata, sorted(retained))
    ):
        owners = owner_references.owners(obj) if obj else {}
        deleted_owners = [uids[uid] for uid in owners if uid in uids]
        # The garbage collector keeps an object while it has an owner.
        if deleted_owners and len(deleted_owners) == len(owners):
            collected[ref] = deleted_owners[0]
    return collected
