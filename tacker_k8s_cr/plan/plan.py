"""Plan to apply manifests, and to change the objects of an instance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import deletion_plan
from tacker_k8s_cr.plan import order as orders
from tacker_k8s_cr.plan import prune
from tacker_k8s_cr.plan.order import Order
from tacker_k8s_cr.plan.placement import PlacedManifest
from tacker_k8s_cr.plan.prune import CurrentState
from tacker_k8s_cr.plan.steps import Apply
from tacker_k8s_cr.plan.steps import LiveObject
from tacker_k8s_cr.plan.steps import Plan
from tacker_k8s_cr.plan.steps import Stage
from tacker_k8s_cr.plan.steps import Step
from tacker_k8s_cr.plan.steps import Submit

DEFINITIONS = "definitions"
"""Name of the stage whose end makes kinds and namespaces usable."""


def instantiate(
    items: Sequence[PlacedManifest],
    registry: Registry,
    live: Mapping[ObjectRef, LiveObject] | None = None,
    terminating: Collection[ObjectRef] = (),
    order: Order = orders.NONE,
    requests: Sequence[PlacedManifest] = (),
) -> Plan:
    """Plan to apply the manifests: definitions, then all other objects.

    Each wave ends before the next begins; namespaces and definitions without a
    wave are applied before all. Within a wave an object waits only for those
    that it depends on.

    :param live: existing objects of this instance.
    :param terminating: objects whose deletion has to end before their
        replacement can be created.
    :param requests: what is created after the objects of its wave, and not
        stored by the server.
    """
    existing = live or {}
    new = LiveObject("")
    packaged = {item.ref for item in items}
    stages: dict[tuple[bool, int, bool], list[Step]] = defaultdict(list)
    for item in items:
        rank = registry[item.ref.group_kind].rank
        defines = rank <= ApplyOrder.DEFINITION and item.ref not in order.late
        is_early = defines and item.ref not in order.waves
        wave = 0 if is_early else order.wave(item.ref)
        live_object = existing.get(item.ref, new)
        stages[not is_early, wave, not defines].append(
            Apply(
                item.ref,
                item.manifest,
                rank,
                live_object.uid,
                live_object.resource_version,
                item.ref in terminating,
                order.needs.get(item.ref, frozenset()) & packaged,
                live_object.replicas_path,
                live_object.unchanged,
            )
        )
    for item in requests:
        # Only few of these kinds may have annotations, such as a Binding.
        wave = int(objects.annotation(item.manifest, "wave") or 0)
        submit = Submit(item.ref, item.manifest, item.where)
        stages[True, wave, True].append(submit)
    keys = sorted(stages)
    return Plan(
        tuple(
            Stage(
                _name(key, bool(order.waves)),
                tuple(stages[key]),
                barrier=key != keys[-1] or not key[2],
            )
            for key in keys
        )
    )


def _name(key: tuple[bool, int, bool], waves: bool) -> str:
    later, wave, is_rest = key
    if not later:
        return DEFINITIONS
    if not waves:
        return "objects"
    return f"wave {wave}" if is_rest else f"{DEFINITIONS} of wave {wave}"


RECREATED = "objects to recreate"
"""Name of the stages that delete what the next stage creates again."""


def change(
    items: Sequence[PlacedManifest],
    registry: Registry,
    before: CurrentState,
    live: Mapping[ObjectRef, LiveObject],
    terminating: Collection[ObjectRef] = (),
    order: Order = orders.NONE,
    requests: Sequence[PlacedManifest] = (),
) -> Plan:
    """Plan to apply the new manifests, then to delete what they dropped.

    :param before: the objects of the instance so far.
    :param live: objects of the instance that exist.
    :param terminating: objects whose deletion has to end before their
        replacement can be created.
    :param requests: as for ``instantiate``.
    """
    packaged = {item.ref for item in items}
    pruned, retained = prune.prune_decision(packaged, registry, before)
    existing = {
        ref: it for ref, it in live.items() if ref not in before.recreated
    }
    stages: list[Stage] = []
    applied = instantiate(
        items, registry, existing, terminating, order, requests
    )
    for stage in applied.stages:
        recreated = {
            r: live[r].uid for r in stage.refs if r in before.recreated
        }
        stages += [
            dataclasses.replace(one, name=RECREATED)
            for one in deletion_plan.terminate(
                recreated, registry, order=before.order
            ).stages
        ]
        barrier = stage.barrier or bool(pruned)
        stages.append(dataclasses.replace(stage, barrier=barrier))
    removed = deletion_plan.terminate(pruned, registry, order=before.order)
    return Plan((*stages, *removed.stages), retained)
