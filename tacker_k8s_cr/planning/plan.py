"""Manifests and what is there -> stages of steps. Nothing here acts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.kinds.base import Rank
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import Path
from tacker_k8s_cr.planning import order as orders
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.planning.order import Order
from tacker_k8s_cr.planning.placing import Placed


@dataclasses.dataclass(frozen=True)
class Apply:
    """Apply a manifest; with a UID only to the object that has it.

    :param version: the object's resourceVersion before.
    :param going: an object of that name was seen that is asked to go.
    :param after: objects that have to be current before.
    :param count: where a number is that is sent as it was seen.
    """

    ref: ObjectRef
    manifest: Manifest
    rank: Rank
    uid: str = ""
    version: str = ""
    going: bool = False
    after: frozenset[ObjectRef] = frozenset()
    count: Path = ()


@dataclasses.dataclass(frozen=True)
class Live:
    """What we know of an object of ours that is there already.

    :param count: where it has a number that is to stay as it is.
    """

    uid: str
    version: str = ""
    count: Path = ()


@dataclasses.dataclass(frozen=True)
class Delete:
    """Delete the object with this UID."""

    ref: ObjectRef
    uid: str
    propagation: str = "Background"


Step = Apply | Delete


@dataclasses.dataclass(frozen=True)
class Stage:
    """Steps between two entries of the journal.

    :param barrier: what was applied must be current before the next stage.
        A stage that deletes always ends when all of it is gone.
    """

    name: str
    steps: tuple[Step, ...]
    barrier: bool = False

    @property
    def refs(self) -> tuple[ObjectRef, ...]:
        return tuple(step.ref for step in self.steps)


@dataclasses.dataclass(frozen=True)
class Plan:
    """Stages, in order, and what the change leaves alone on purpose.

    :param kept: objects that the new package no longer names and that are
        only pruned when that is asked for by name.
    """

    stages: tuple[Stage, ...]
    kept: tuple[ObjectRef, ...] = ()

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
    items: Sequence[Placed],
    registry: Registry,
    live: Mapping[ObjectRef, Live] | None = None,
    going: Collection[ObjectRef] = (),
    order: Order = orders.NONE,
) -> Plan:
    """Bring the manifests in: what defines kinds first, then the rest.

    Each wave ends before the next begins; namespaces and definitions that
    name none come before all. Within a wave an object waits for those that
    it depends on, and nothing else does.

    :param live: objects that are ours and there already.
    :param going: objects that have to go before ours can come.
    """
    there = live or {}
    new = Live("")
    brought = {item.ref for item in items}
    stages: dict[tuple[bool, int, bool], list[Apply]] = defaultdict(list)
    for item in items:
        rank = registry[item.ref.group_kind].rank
        defines = rank <= Rank.DEFINITION and item.ref not in order.late
        first = defines and item.ref not in order.waves
        wave = 0 if first else order.wave(item.ref)
        stages[not first, wave, not defines].append(
            Apply(
                item.ref,
                item.manifest,
                rank,
                there.get(item.ref, new).uid,
                there.get(item.ref, new).version,
                item.ref in going,
                order.needs.get(item.ref, frozenset()) & brought,
                there.get(item.ref, new).count,
            )
        )
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
    later, wave, objects = key
    if not later:
        return DEFINITIONS
    if not waves:
        return "objects"
    return f"wave {wave}" if objects else f"{DEFINITIONS} of wave {wave}"


@dataclasses.dataclass(frozen=True)
class Former:
    """What an instance has, and what its manifests say on their going.

    :param owned: the UIDs of all that it owns.
    :param home: the namespace of its record, which is never pruned.
    :param asked: what manifests say on whether they may be pruned, against
        what is usual for their kind.
    :param defines: by definition, the kind that it defines.
    :param needs: by object, those that it cannot do without.
    :param order: in which it came, as its manifests say.
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


def change(
    items: Sequence[Placed],
    registry: Registry,
    before: Former,
    live: Mapping[ObjectRef, Live],
    going: Collection[ObjectRef] = (),
    order: Order = orders.NONE,
) -> Plan:
    """Bring in the new manifests; then take away what they no longer name.

    A namespace, or a definition, in which anything stays is kept whatever
    the manifests say: it would take that along. What an object that is kept
    cannot do without is kept with it, unless its own manifest says else.

    :param live: objects that are ours and there already.
    :param going: objects that have to go before ours can come.
    """
    named = {item.ref for item in items}
    dropped = {r: u for r, u in before.owned.items() if r not in named}
    kept = {
        ref
        for ref in dropped
        if ref == before.home
        or not before.asked.get(ref, not registry[ref.group_kind].kept)
    }
    look = list(kept)
    while look:
        needed = before.needs.get(look.pop(), frozenset())
        for ref in (needed & dropped.keys()) - kept:
            if not before.asked.get(ref):
                kept.add(ref)
                look.append(ref)
    for ref in sorted(
        dropped, key=lambda r: r.group_kind == placing.NAMESPACE
    ):
        if _holds(ref, named | kept, before.defines):
            kept.add(ref)
    gone = {r: u for r, u in dropped.items() if r not in kept}
    applied = instantiate(items, registry, live, going, order)
    removed = terminate(gone, registry, order=before.order)
    settled = tuple(
        dataclasses.replace(stage, barrier=stage.barrier or bool(gone))
        for stage in applied.stages
    )
    return Plan(settled + removed.stages, tuple(sorted(kept)))


def _holds(
    ref: ObjectRef,
    staying: Collection[ObjectRef],
    defines: Mapping[ObjectRef, GroupKind],
) -> bool:
    """Whether anything that stays would go with a namespace or definition."""
    if ref.group_kind == placing.NAMESPACE:
        return any(other.namespace == ref.name for other in staying)
    kind = defines.get(ref)
    return any(other.group_kind == kind for other in staying)


_GOING: tuple[tuple[str, frozenset[Rank]], ...] = (
    ("custom resources", frozenset({Rank.CUSTOM, Rank.CLUSTER})),
    ("templates", frozenset({Rank.TEMPLATE})),
    ("webhooks and API services", frozenset({Rank.HOOK})),
    ("workloads", frozenset({Rank.WORKLOAD, Rank.SCALING})),
    (
        "configuration",
        frozenset({Rank.SERVICE, Rank.ACCESS, Rank.CONFIG, Rank.POLICY}),
    ),
    ("definitions", frozenset({Rank.DEFINITION})),
    ("namespaces", frozenset({Rank.NAMESPACE})),
)


CLUSTERS = "clusters"
RECORD = "namespace of the record"


def terminate(
    owned: Mapping[ObjectRef, str],
    registry: Registry,
    last: ObjectRef | None = None,
    order: Order = orders.NONE,
) -> Plan:
    """Take everything away, against the direction of need.

    What a stage deletes must be gone before the next begins: a Cluster's
    controllers need its templates, and an operator its definitions, to
    come to an end. What an author has put in an order goes the other way
    round: later waves first, and nothing before what depends on it.

    :param last: the namespace that holds the record, which goes by itself.
    """
    names = (CLUSTERS, *(name for name, _ in _GOING), RECORD)
    places: dict[ObjectRef, tuple[int, int, int]] = {}
    for ref in owned:
        handler = registry[ref.group_kind]
        if ref == last:
            name = RECORD
        elif handler.alone:
            name = CLUSTERS
        else:
            name = next(n for n, ranks in _GOING if handler.rank in ranks)
        defines = handler.rank <= Rank.DEFINITION and ref not in order.late
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
            for (*_, place), refs in orders.backwards(places, order.needs)
        )
    )
