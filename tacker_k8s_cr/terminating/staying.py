"""What outlives an instance: what was asked for, and what that needs."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping

from tacker_k8s_cr import objects
from tacker_k8s_cr import serving
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.policy import Policy
from tacker_k8s_cr.subjects import Subject
from tacker_k8s_cr.subjects import chosen

ANNOTATION = "on-terminate"
KEEP = "keep"
DELETE = "delete"


def said(
    owned: Collection[ObjectRef],
    manifests: Mapping[ObjectRef, Manifest],
    policy: Policy,
    asked: Mapping[Subject, bool],
    otherwise: Mapping[Subject, bool] | None = None,
    *,
    again: bool = False,
) -> dict[ObjectRef, tuple[bool, str]]:
    """What is said on objects: whether each is kept, and by whom.

    What the request for the end says wins over an object's annotation, and
    that over the policy.

    :param asked: by that request, by object or kind.
    :param otherwise: the same, where nothing else is said.
    :param again: an end that is repeated: the policy holds what was settled
        before, which only the request wins over.
    """
    found = {}
    for ref in owned:
        if (wanted := chosen(asked, ref)) is not None:
            found[ref] = wanted, "the request says so"
            continue
        if again and ref in policy.on_terminate:
            found[ref] = policy.on_terminate[ref], "it was said before"
            continue
        own = objects.annotation(manifests.get(ref, {}), ANNOTATION)
        if own is not None:
            found[ref] = own == KEEP, "its annotation says so"
        elif (may := policy.may_keep(ref)) is not None:
            found[ref] = may, "the policy says so"
        elif (usual := chosen(otherwise or {}, ref)) is not None:
            found[ref] = usual, "the configuration says so"
    return found


def staying(
    owned: Collection[ObjectRef],
    manifests: Mapping[ObjectRef, Manifest],
    said: Mapping[ObjectRef, tuple[bool, str]],
) -> dict[ObjectRef, str]:
    """What is to be left, by object why.

    With what is kept stays what it does not work without, unless it is said
    that this goes. A namespace, or a definition, stays in any case: it
    would take along what is kept.
    """
    kept = {ref: why for ref, (stays, why) in said.items() if stays}
    if not kept:
        return {}
    needed = serving.servers(
        {ref: m for ref, m in manifests.items() if ref in owned}
    )
    look = sorted(kept)
    while look:
        holder = look.pop()
        for ref in sorted(needed.get(holder, ())):
            may_go = ref in said and not said[ref][0]
            if ref in kept or (may_go and not _holds(ref)):
                continue
            kept[ref] = f"{holder} stays, and needs it"
            look.append(ref)
    return kept


def _holds(ref: ObjectRef) -> bool:
    return ref.group_kind in (placing.DEFINITION, placing.NAMESPACE)
