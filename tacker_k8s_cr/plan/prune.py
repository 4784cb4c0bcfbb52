"""What a change of package takes away, and what it keeps, and why."""

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
    """What an instance has, and what its manifests say on their going.

    :param owned: the UIDs of all that it owns.
    :param home: the namespace of its record, which is never pruned.
    :param asked: what manifests say on whether they may be pruned, against
        what is usual for their kind.
    :param defines: by definition, the kind that it defines.
    :param needs: by object, those that it cannot do without.
    :param order: in which it came, as its manifests say.
    :param used: what others use: why it stays.
    :param recreated: what is deleted and created again, each right before
        the stage that creates it.
    """

    owned: Mapping[ObjectRef, str]
    home: ObjectRef | None = None
    asked: Mapping[ObjectRef, bool] = dataclasses.field(default_factory=dict)
    defines: Mapping[ObjectRef, GroupKind] = dataclasses.field(
        default_factory=dict
    )
    needs: Mapping[ObjectRef, frozenset[ObjectRef]] = dataclasses.field(
        default_factory=dict
    )
    order: Order = orders.NONE
    used: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)
    recreated: Collection[ObjectRef] = ()


def prune_decision(
    named: Collection[ObjectRef], registry: Registry, before: CurrentState
) -> tuple[dict[ObjectRef, str], dict[ObjectRef, str]]:
    """Return what to delete, by UID, and what to retain, by reason.

    A namespace, or a definition, in which any object is retained is kept
    whatever the manifests specify: deleting it would delete the object. The
    dependencies of a retained object are retained with it, unless their own
    manifest specifies otherwise.
    """
    dropped = {r: u for r, u in before.owned.items() if r not in named}
    kept = {
        ref: why for ref in dropped if (why := _stays(ref, registry, before))
    }
    look = list(kept)
    while look:
        ref = look.pop()
        needed = before.needs.get(ref, frozenset()) & dropped.keys()
        for other in sorted(needed - kept.keys()):
            if not before.asked.get(other):
                kept[other] = f"{ref}, which stays, needs it"
                look.append(other)
    for ref in sorted(
        dropped, key=lambda r: r.group_kind == placement.NAMESPACE
    ):
        if ref not in kept and _holds(
            ref, {*named, *kept} - {ref}, before.defines
        ):
            kept[ref] = "what stays would go with it"
    gone = {r: u for r, u in dropped.items() if r not in kept}
    return gone, dict(sorted(kept.items()))


def _stays(ref: ObjectRef, registry: Registry, before: CurrentState) -> str:
    """Why an object stays for its own sake; empty if it does not."""
    if ref == before.home:
        return "the record of the instance lies in it"
    if ref in before.used:
        return before.used[ref]
    asked = before.asked.get(ref)
    if asked is False:
        return "its manifest or the policy says that it is not to be pruned"
    if asked is None and registry[ref.group_kind].prune_protected:
        return f"a {ref.kind} is only pruned where that is asked for"
    return ""


def _holds(
    ref: ObjectRef,
    staying: Collection[ObjectRef],
    defines: Mapping[ObjectRef, GroupKind],
) -> bool:
    """Whether anything that stays would go with a namespace or definition."""
    if ref.group_kind == placement.NAMESPACE:
        return any(other.namespace == ref.name for other in staying)
    kind = defines.get(ref)
    return any(other.group_kind == kind for other in staying)
