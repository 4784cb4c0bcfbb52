"""Manifests and what is there -> stages of steps. Nothing here acts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.plan import order as orders
from tacker_k8s_cr.plan import prune
from tacker_k8s_cr.plan.order import Order
from tacker_k8s_cr.plan.placement import PlacedManifest
from tacker_k8s_cr.plan.prune import CurrentState
from tacker_k8s_cr.plan.unchanged import Unchanged


@dataclasses.dataclass(frozen=True)
class Apply:
    """Apply a manifest; with a UID only to the object that has it.

    :param version: the object's resourceVersion before.
    :param going: an existing object of that name has its deletion requested.
    :param after: objects that have to be current before.
    :param count: the path of a replica count that is sent as it was seen.
    :param unchanged: set if the apply need not be sent.
    """

    ref: ObjectRef
    manifest: Manifest
    rank: ApplyOrder
    uid: str = ""
    version: str = ""
    terminating: bool = False
    after: frozenset[ObjectRef] = frozenset()
    count: Path = ()
    unchanged: Unchanged | None = None


@dataclasses.dataclass(frozen=True)
class LiveObject:
    """An existing object of this instance.

    :param count: the path of a replica count that is to stay unchanged.
    :param unchanged: set if its manifest need not be sent.
    """

    uid: str
    version: str = ""
    count: Path = ()
    unchanged: Unchanged | None = None


@dataclasses.dataclass(frozen=True)
class Delete:
    """Delete the object with this UID."""

    ref: ObjectRef
    uid: str
    propagation: str = "Background"


@dataclasses.dataclass(frozen=True)
class Submit:
    """Create an object that the server answers and does not keep.

    :param where: the place of its manifest: it need not have a name.
    """

    ref: ObjectRef
    manifest: Manifest
    where: str


Step = Apply | Delete | Submit


@dataclasses.dataclass(frozen=True)
class Stage:
    """Steps between two entries of the journal.

    :param barrier: what was applied must be current before the next stage. A
        stage that deletes always ends when all its objects are deleted.
    """

    name: str
    steps: tuple[Step, ...]
    barrier: bool = False

    @property
    def refs(self) -> tuple[ObjectRef, ...]:
        return tuple(step.ref for step in self.steps)

    def without(self, refs: Collection[ObjectRef]) -> Stage:
        """The stage without the steps that delete these."""
        steps = tuple(
            step
            for step in self.steps
            if not (isinstance(step, Delete) and step.ref in refs)
        )
        return dataclasses.replace(self, steps=steps)


@dataclasses.dataclass(frozen=True)
class Plan:
    """Stages, in order, and what the change deliberately leaves unchanged.

    :param kept: objects that the new package no longer contains and that are
        retained: why.
    """

    stages: tuple[Stage, ...]
    kept: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)

    def without(self, refs: Collection[ObjectRef]) -> Plan:
        """The plan without the steps on these objects."""
        stages = (
            dataclasses.replace(
                stage,
                steps=tuple(s for s in stage.steps if s.ref not in refs),
            )
            for stage in self.stages
        )
        return Plan(tuple(s for s in stages if s.steps), self.kept)


# -- Plans -------------------------------------------------------------------


DEFINITIONS = "definitions"
"""Name of the stage whose end makes kinds and namespaces usable."""


def instantiate(
    items: Sequence[PlacedManifest],
    registry: Registry,
    live: Mapping[ObjectRef, LiveObject] | None = None,
    going: Collection[ObjectRef] = (),
    order: Order = orders.NONE,
    requests: Sequence[PlacedManifest] = (),
) -> Plan:
    """Plan to apply the manifests: definitions of kinds first, then the rest.

    Each wave ends before the next begins; namespaces and definitions without a
    wave are applied before all. Within a wave an object waits only for those
    that it depends on.

    :param live: existing objects of this instance.
    :param going: objects to be deleted before their replacement is created.
    :param requests: what is created after the objects of its wave, and not
        stored by the server.
    """
    there = live or {}
    new = LiveObject("")
    brought = {item.ref for item in items}
    stages: dict[tuple[bool, int, bool], list[Step]] = defaultdict(list)
    for item in items:
        rank = registry[item.ref.group_kind].rank
        defines = rank <= ApplyOrder.DEFINITION and item.ref not in order.late
        first = defines and item.ref not in order.waves
        wave = 0 if first else order.wave(item.ref)
        found = there.get(item.ref, new)
        stages[not first, wave, not defines].append(
            Apply(
                item.ref,
                item.manifest,
                rank,
                found.uid,
                found.version,
                item.ref in going,
                order.needs.get(item.ref, frozenset()) & brought,
                found.count,
                found.unchanged,
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
    later, wave, rest = key
    if not later:
        return DEFINITIONS
    if not waves:
        return "objects"
    return f"wave {wave}" if rest else f"{DEFINITIONS} of wave {wave}"


RECREATED = "objects to be made again"
"""Name of the stages that delete what the next one makes again."""


def change(
    items: Sequence[PlacedManifest],
    registry: Registry,
    before: CurrentState,
    live: Mapping[ObjectRef, LiveObject],
    going: Collection[ObjectRef] = (),
    order: Order = orders.NONE,
    requests: Sequence[PlacedManifest] = (),
) -> Plan:
    """Apply the new manifests, then delete what they no longer name.

    :param before: the objects of the instance so far.
    :param live: objects of the instance that exist.
    :param going: objects that are deleted before ours can be created.
    :param requests: as for ``instantiate``.
    """
    named = {item.ref for item in items}
    gone, kept = prune.prune_decision(named, registry, before)
    there = {
        ref: it for ref, it in live.items() if ref not in before.recreated
    }
    applied: list[Stage] = []
    brought = instantiate(items, registry, there, going, order, requests)
    for stage in brought.stages:
        away = {r: live[r].uid for r in stage.refs if r in before.recreated}
        applied += [
            dataclasses.replace(one, name=RECREATED)
            for one in terminate(away, registry, order=before.order).stages
        ]
        barrier = stage.barrier or bool(gone)
        applied.append(dataclasses.replace(stage, barrier=barrier))
    removed = terminate(gone, registry, order=before.order)
    return Plan((*applied, *removed.stages), kept)


_GOING: tuple[tuple[str, frozenset[ApplyOrder]], ...] = (
    ("custom resources", frozenset({ApplyOrder.CUSTOM, ApplyOrder.CLUSTER})),
    ("templates", frozenset({ApplyOrder.TEMPLATE})),
    ("webhooks and API services", frozenset({ApplyOrder.HOOK})),
    ("workloads", frozenset({ApplyOrder.WORKLOAD, ApplyOrder.SCALING})),
    (
        "configuration",
        frozenset(
            {
                ApplyOrder.SERVICE,
                ApplyOrder.BINDING,
                ApplyOrder.ACCESS,
                ApplyOrder.CONFIG,
                ApplyOrder.POLICY,
            }
        ),
    ),
    ("definitions", frozenset({ApplyOrder.DEFINITION})),
    ("namespaces", frozenset({ApplyOrder.NAMESPACE})),
)


CLUSTERS = "clusters"
RECORD = "namespace of the record"


def terminate(
    owned: Mapping[ObjectRef, str],
    registry: Registry,
    last: ObjectRef | None = None,
    order: Order = orders.NONE,
) -> Plan:
    """Plan to delete everything, in reverse dependency order.

    What a stage deletes must no longer exist before the next begins: a
    Cluster's controllers need its templates, and an operator its definitions,
    to complete their finalizers. The order that an author specified is
    reversed: later waves first, and nothing before its dependents.

    :param last: the namespace that holds the record, deleted separately.
    """
    names = (CLUSTERS, *(name for name, _ in _GOING), RECORD)
    places: dict[ObjectRef, tuple[int, int, int]] = {}
    for ref in owned:
        handler = registry[ref.group_kind]
        if ref == last:
            name = RECORD
        elif handler.delete_exclusively:
            name = CLUSTERS
        else:
            name = next(n for n, ranks in _GOING if handler.rank in ranks)
        defines = (
            handler.rank <= ApplyOrder.DEFINITION and ref not in order.late
        )
        first = defines and ref not in order.waves
        wave = 0 if first else -order.wave(ref)
        places[ref] = (2 if ref == last else first, wave, names.index(name))
    return Plan(
        tuple(
            Stage(
                names[place],
                tuple(
                    Delete(r, owned[r], registry[r.group_kind].propagation)
                    for r in refs
                ),
            )
            for (*_, place), refs in orders.deletion_order(places, order.needs)
        )
    )
