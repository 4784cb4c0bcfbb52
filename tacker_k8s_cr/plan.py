"""Manifests and what is there -> stages of steps. Nothing here acts."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.errors import Problem
from tacker_k8s_cr.kinds.base import Rank
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import Path
from tacker_k8s_cr.package.model import Document


@dataclasses.dataclass(frozen=True)
class Placed:
    """A manifest that says in which namespace it goes, and where it stands."""

    ref: ObjectRef
    manifest: Manifest
    where: str


@dataclasses.dataclass(frozen=True)
class Apply:
    """Apply a manifest; with a UID only to the object that has it.

    :param version: the object's resourceVersion before.
    """

    ref: ObjectRef
    manifest: Manifest
    rank: Rank
    uid: str = ""
    version: str = ""


@dataclasses.dataclass(frozen=True)
class Live:
    """What we know of an object of ours that is there already."""

    uid: str
    version: str = ""


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


# -- Where a manifest goes ---------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Brought:
    """A kind that a CustomResourceDefinition of the package brings."""

    versions: tuple[str, ...]
    namespaced: bool
    subresources: frozenset[str]


def brought(manifests: Iterable[Manifest]) -> dict[GroupKind, Brought]:
    """Kinds that the manifests themselves bring."""
    found = {}
    for manifest in manifests:
        if GroupKind.of(manifest) != DEFINITION:
            continue
        spec = objects.field(manifest, ("spec",), {})
        versions = [v for v in spec.get("versions", ()) if v.get("served")]
        kind = GroupKind(
            spec.get("group", ""), objects.field(spec, ("names", "kind"), "")
        )
        found[kind] = Brought(
            tuple(v.get("name", "") for v in versions),
            spec.get("scope") == "Namespaced",
            frozenset(s for v in versions for s in v.get("subresources", ())),
        )
    return found


DEFINITION = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
NAMESPACE = GroupKind("", "Namespace")


def placed(
    documents: Sequence[Document],
    namespaced: Mapping[GroupKind, bool],
    instance: str,
    namespace: str,
) -> tuple[Placed, ...]:
    """Every manifest with its namespace and the label of the instance.

    Raises PackageInvalid when two documents turn out to be one object.
    """
    items: dict[ObjectRef, Placed] = {}
    problems = []
    for document in documents:
        manifest = document.manifest
        metadata = dict(manifest["metadata"])
        metadata.pop("namespace", None)
        if namespaced[GroupKind.of(manifest)]:
            metadata["namespace"] = (
                manifest["metadata"].get("namespace") or namespace
            )
        metadata["labels"] = {
            **(metadata.get("labels") or {}),
            objects.INSTANCE: instance,
        }
        manifest = {**manifest, "metadata": metadata}
        item = Placed(ObjectRef.of(manifest), manifest, document.where)
        if twin := items.get(item.ref):
            problems.append(
                Problem(item.where, f"{item.ref} is already in {twin.where}")
            )
        items[item.ref] = item
    if problems:
        raise errors.PackageInvalid(problems)
    return tuple(items.values())


def with_replicas(item: Placed, path: Path, number: int | None) -> Placed:
    """Asking for so many replicas, or with None not saying how many."""
    return dataclasses.replace(
        item, manifest=set_field(item.manifest, path, number)
    )


def set_field(obj: Manifest, path: Path, value: int | None) -> Manifest:
    """The object with the value at the path; with None without the field."""
    key, *rest = path
    changed = dict(obj)
    if rest:
        below = obj.get(key)
        if not isinstance(below, Mapping):
            below = {}
        changed[key] = set_field(below, tuple(rest), value)
    elif value is None:
        changed.pop(key, None)
    else:
        changed[key] = value
    return changed


# -- Plans -------------------------------------------------------------------


DEFINITIONS = "definitions"
"""Name of the stage whose end makes kinds and namespaces usable."""


def instantiate(
    items: Sequence[Placed],
    registry: Registry,
    live: Mapping[ObjectRef, Live] | None = None,
) -> Plan:
    """Bring the manifests in: what defines kinds first, then the rest.

    :param live: objects that are ours and there already.
    """
    there = live or {}
    steps = [
        Apply(
            item.ref,
            item.manifest,
            registry[item.ref.group_kind].rank,
            there[item.ref].uid if item.ref in there else "",
            there[item.ref].version if item.ref in there else "",
        )
        for item in items
    ]
    first = tuple(s for s in steps if s.rank <= Rank.DEFINITION)
    rest = tuple(s for s in steps if s.rank > Rank.DEFINITION)
    stages = (
        Stage("definitions", first, barrier=True),
        Stage("objects", rest),
    )
    return Plan(tuple(stage for stage in stages if stage.steps))


def change(
    items: Sequence[Placed],
    registry: Registry,
    owned: Mapping[ObjectRef, str],
    live: Mapping[ObjectRef, Live],
    pruned_when_asked: Mapping[ObjectRef, bool] | None = None,
) -> Plan:
    """Bring in the new manifests; then take away what they no longer name.

    :param owned: the UIDs of all that the instance owns.
    :param live: objects that are ours and there already.
    :param pruned_when_asked: what the former manifests themselves say on
        whether they may be pruned, against what is usual for their kind.
    """
    asked = pruned_when_asked or {}
    named = {item.ref for item in items}
    dropped = {r: u for r, u in owned.items() if r not in named}
    kept = tuple(
        ref
        for ref in dropped
        if not asked.get(ref, not registry[ref.group_kind].kept)
    )
    gone = {r: u for r, u in dropped.items() if r not in kept}
    applied = instantiate(items, registry, live)
    removed = terminate(gone, registry)
    settled = tuple(
        dataclasses.replace(stage, barrier=stage.barrier or bool(gone))
        for stage in applied.stages
    )
    return Plan(settled + removed.stages, kept)


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


def terminate(
    owned: Mapping[ObjectRef, str],
    registry: Registry,
    last: ObjectRef | None = None,
) -> Plan:
    """Take everything away, against the direction of need.

    What a stage deletes must be gone before the next begins: a Cluster's
    controllers need its templates, and an operator its definitions, to
    come to an end.

    :param last: the namespace that holds the record, which goes by itself.
    """
    groups: dict[str, list[Delete]] = {"clusters": []}
    groups.update((name, []) for name, _ in _GOING)
    groups["namespace of the record"] = []
    for ref, uid in owned.items():
        handler = registry[ref.group_kind]
        if ref == last:
            name = "namespace of the record"
        elif handler.alone:
            name = "clusters"
        else:
            name = next(n for n, ranks in _GOING if handler.rank in ranks)
        groups[name].append(Delete(ref, uid, handler.propagation))
    return Plan(
        tuple(
            Stage(name, tuple(steps))
            for name, steps in groups.items()
            if steps
        )
    )
