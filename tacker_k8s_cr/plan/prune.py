"""Decide which objects a change of package deletes, and which it retains."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import order as orders
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.order import Order


@dataclasses.dataclass(frozen=True)
class CurrentState:
    """The objects of an instance, and what determines their deletion.

    :param owned: all that it owns, with UIDs.
    :param record_namespace: the namespace of its record, never pruned.
    :param prune_annotations: whether an object may be pruned, where its
        manifest or the policy overrides the default of its kind.
    :param defines: by definition, the kind that it defines.
    :param needs: by object, its dependencies.
    :param order: in which the objects were applied.
    :param in_use: objects in use, with the reason to retain them.
    :param recreated: objects that are deleted and created again, each right
        before the stage that creates it.
    """

    owned: Mapping[ObjectRef, str]
    record_namespace: ObjectRef | None = None
    prune_annotations: Mapping[ObjectRef, bool] = dataclasses.field(
        default_factory=dict
    )
    defines: Mapping[ObjectRef, GroupKind] = dataclasses.field(
        default_factory=dict
    )
    needs: Mapping[ObjectRef, frozenset[ObjectRef]] = dataclasses.field(
        default_factory=dict
    )
    order: Order = orders.NONE
    in_use: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)
    recreated: Collection[ObjectRef] = ()


def prune_decision(
    packaged: Collection[ObjectRef], registry: Registry, before: CurrentState
) -> tuple[dict[ObjectRef, str], dict[ObjectRef, str]]:
    """Return what to delete, by UID, and what to retain, by reason.

    A namespace, or a definition, in which any object is retained is kept
    whatever the manifests specify: deleting it would delete the object. The
    dependencies of a retained object are retained with it, unless their own
    manifest specifies otherwise.
    """
    dropped = {r: u for r, u in before.owned.items() if r not in packaged}
    retained = {
        ref: why
        for ref in dropped
        if (why := _retention_reason(ref, registry, before))
    }
    pending = list(retained)
    while pending:
        ref = pending.pop()
        needed = before.needs.get(ref, frozenset()) & dropped.keys()
        for other in sorted(needed - retained.keys()):
            if not before.prune_annotations.get(other):
                retained[other] = f"{ref}, which is retained, needs it"
                pending.append(other)
    for ref in sorted(
        dropped, key=lambda r: r.group_kind == placement.NAMESPACE
    ):
        if ref not in retained and _contains_any(
            ref, {*packaged, *retained} - {ref}, before.defines
        ):
            retained[ref] = "deleting it would delete retained objects"
    pruned = {r: u for r, u in dropped.items() if r not in retained}
    return pruned, dict(sorted(retained.items()))


def _retention_reason(
    ref: ObjectRef, registry: Registry, before: CurrentState
) -> str:
    """Return why an object itself is retained; empty if it is not."""
    if ref == before.record_namespace:
        return "it contains the record of the instance"
    if ref in before.in_use:
        return before.in_use[ref]
    annotated = before.prune_annotations.get(ref)
    if annotated is False:
        return "its manifest or the policy protects it from pruning"
    if annotated is None and registry[ref.group_kind].prune_protected:
        return f"a {ref.kind} is pruned only on request"
    return ""


def _contains_any(
    ref: ObjectRef,
    retained: Collection[ObjectRef],
    defines: Mapping[ObjectRef, GroupKind],
) -> bool:
    """Return whether deleting ref deletes any of the retained objects."""
    if ref.group_kind == placement.NAMESPACE:
        return any(other.namespace == ref.name for other in retained)
    kind = defines.get(ref)
    return any(other.group_kind == kind for other in retained)
