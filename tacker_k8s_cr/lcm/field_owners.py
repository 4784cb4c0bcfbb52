"""Make our field manager the only owner of fields that it has applied.

A forced apply of a value that a field already has leaves the former manager
as a second owner. Our next apply with another value would then conflict.
"""

from __future__ import annotations

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import ownership
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.objects import ObjectRef

TRIES = 5
"""Writes of one object, where its controllers write it at the same time."""


def take_over(op: Operation, ref: ObjectRef, uid: str) -> None:
    """Remove other managers' claims on the fields that we have applied.

    No value changes. Status and other subresources are left alone, and so is
    what other managers apply.

    :param uid: of the object; another one of its name is left alone.
    :raises Outdated: others wrote the object between all our attempts.
    """
    for attempt in range(TRIES):
        obj = op.cluster.get_metadata(ref)
        if obj is None or objects.uid(obj) != uid:
            return
        before = list(objects.field(obj, ("metadata", "managedFields"), ()))
        after = ownership.owned_alone(before, op.manager)
        if after == before:
            return
        body = {
            "uid": uid,
            "resourceVersion": obj["metadata"]["resourceVersion"],
            "managedFields": after,
        }
        op.ledger.guard()
        try:
            op.ledger.writing.patch(ref, {"metadata": body}, op.manager)
        except errors.Outdated:
            if attempt == TRIES - 1:
                raise
        else:
            return
