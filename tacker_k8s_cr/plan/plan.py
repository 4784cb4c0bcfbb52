"""Turn manifests and existing objects into stages of steps, as values."""

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

    :param resource_version: the object's resourceVersion before.
    :param terminating: the deletion of an existing object of that name has
        been requested.
    :param after: objects that have to be current before.
    :param replicas_path: path of a replica count that is sent as last read.
    :param unchanged: set if the apply need not be sent.
    """

    ref: ObjectRef
    manifest: Manifest
    rank: ApplyOrder
    uid: str = ""
    resource_version: str = ""
    terminating: bool = False
    after: frozenset[ObjectRef] = frozenset()
    replicas_path: Path = ()
    unchanged: Unchanged | None = None


@dataclasses.dataclass(frozen=True)
class LiveObject:
    """An existing object of this instance.

    :param replicas_path: path of a replica count that must not change.
    :param unchanged: set if its manifest need not be sent.
    """

    uid: str
    resource_version: str = ""
    replicas_path: Path = ()
    unchanged: Unchanged | None = None


@dataclasses.dataclass(frozen=True)
class Delete:
    """Delete the object with this UID."""

    ref: ObjectRef
    uid: str
    propagation: str = "Background"


@dataclasses.dataclass(frozen=True)
class Submit:
    """Create an object that the server answers and does not store.

    :param where: the location of its manifest, since it may have no name.
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

    :param retained: objects that the new package no longer contains and that
        are retained, with the reason.
    """

    stages: tuple[Stage, ...]
    retained: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)

    def without(self, refs: Collection[ObjectRef]) -> Plan:
        """The plan without the steps on these objects."""
        stages = (
            dataclasses.replace(
                stage,
                steps=tuple(s for s in stage.steps if s.ref not in refs),
            )
            for stage in self.stages
        )
        return Plan(tuple(s for s in stages if s.steps), self.retained)


# -- Plans -------------------------------------------------------------------


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
            for one in terminate(
                recreated, registry, order=before.order
            ).stages
        ]
        barrier = stage.barrier or bool(pruned)
        stages.append(dataclasses.replace(stage, barrier=barrier))
    removed = terminate(pruned, registry, order=before.order)
    return Plan((*stages, *removed.stages), retained)


_DELETION_STAGES: tuple[tuple[str, frozenset[ApplyOrder]], ...] = (
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
RECORD_NAMESPACE = "namespace of the record"


def terminate(
    owned: Mapping[ObjectRef, str],
    registry: Registry,
    record_namespace: ObjectRef | None = None,
    order: Order = orders.NONE,
) -> Plan:
    """Plan to delete everything, in reverse dependency order.

    What a stage deletes must no longer exist before the next begins: a
    Cluster's controllers need its templates, and an operator its definitions,
    to complete their finalizers. The order that an author specified is
    reversed: later waves first, and nothing before its dependents.

    :param record_namespace: namespace of the record, deleted separately.
    """
    names = (
        CLUSTERS,
        *(name for name, _ in _DELETION_STAGES),
        RECORD_NAMESPACE,
    )
    positions: dict[ObjectRef, tuple[int, int, int]] = {}
    for ref in owned:
        handler = registry[ref.group_kind]
        if ref == record_namespace:
            name = RECORD_NAMESPACE
        elif handler.delete_exclusively:
            name = CLUSTERS
        else:
            name = next(
                n for n, ranks in _DELETION_STAGES if handler.rank in ranks
            )
        defines = (
            handler.rank <= ApplyOrder.DEFINITION and ref not in order.late
        )
        is_early = defines and ref not in order.waves
        wave = 0 if is_early else -order.wave(ref)
        positions[ref] = (
            2 if ref == record_namespace else is_early,
            wave,
            names.index(name),
        )
    return Plan(
        tuple(
            Stage(
                names[index],
                tuple(
                    Delete(r, owned[r], registry[r.group_kind].propagation)
                    for r in refs
                ),
            )
            for (*_, index), refs in orders.deletion_order(
                positions, order.needs
            )
        )
    )
