"""What outlives an instance: what was asked for, and what that needs."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping

from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.selectors import Subject
from tacker_k8s_cr.model.selectors import lookup
from tacker_k8s_cr.plan import dependencies
from tacker_k8s_cr.plan import placement

ANNOTATION = "on-terminate"
KEEP = "keep"
DELETE = "delete"


def retention_choices(
    owned: Collection[ObjectRef],
    manifests: Mapping[ObjectRef, Manifest],
    policy: Policy,
    asked: Mapping[Subject, bool],
    otherwise: Mapping[Subject, bool] | None = None,
    *,
    again: bool = False,
) -> dict[ObjectRef, tuple[bool, str]]:
    """Return whether each object is retained, and what determines that.

    The terminate request takes precedence over an object's annotation, and
    that over the policy.

    :param asked: by that request, by object or kind.
    :param otherwise: the same, where nothing else determines it.
    :param again: a repeated termination: the policy holds the former decision,
        over which only the request takes precedence.
    """
    found = {}
    for ref in owned:
        if (wanted := lookup(asked, ref)) is not None:
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
        elif (usual := lookup(otherwise or {}, ref)) is not None:
            found[ref] = usual, "the configuration says so"
    return found


def retained(
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
    needed = dependencies.dependencies_of(
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
    return ref.group_kind in (placement.DEFINITION, placement.NAMESPACE)
