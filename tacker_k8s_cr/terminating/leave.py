"""Leave objects of an instance that ends to nobody, as they are."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.causes import dependents
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef

TRIES = 5
"""Writes of one object, where its controllers write it at the same time."""


def left(
    cluster: Cluster,
    kept: Mapping[ObjectRef, str],
    manager: str,
    guard: Callable[[], None] = lambda: None,
) -> frozenset[ObjectRef]:
    """Take our label and our ownership of fields off these objects.

    Fields stay as they are, and are free for whoever applies them next.
    Returns those that are there: another of the name is not touched.

    :param kept: with UIDs.
    """

    def one(ref: ObjectRef) -> bool:
        for number in range(TRIES):
            obj = cluster.get_metadata(ref)
            if obj is None or objects.uid(obj) != kept[ref]:
                return False
            guard()
            try:
                cluster.patch(ref, _without_mark(obj, manager), manager)
            except errors.Outdated:
                if number == TRIES - 1:
                    raise
            else:
                return True
        return False

    outcomes = raised(cluster.each(one, sorted(kept)))
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


def going_along(
    cluster: Cluster,
    kept: Collection[ObjectRef],
    going: Mapping[ObjectRef, str],
) -> dict[ObjectRef, ObjectRef]:
    """What would go with its owner although it is to be kept: by object."""
    uids = {uid: ref for ref, uid in going.items()}
    found = {}
    for ref, obj in raised(cluster.each(cluster.get_metadata, sorted(kept))):
        owners = dependents.owners(obj) if obj else {}
        taken = [uids[uid] for uid in owners if uid in uids]
        # What has an owner that stays is not collected.
        if taken and len(taken) == len(owners):
            found[ref] = taken[0]
    return found
