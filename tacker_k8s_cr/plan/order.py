"""The order in which objects become current, and are deleted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import graphlib

from tacker_k8s_cr.model.objects import ObjectRef

Needs = Mapping[ObjectRef, frozenset[ObjectRef]]

Position = tuple[int, int, int]
"""Sort key of an object in the deletion order; lower ones come first."""


@dataclasses.dataclass(frozen=True)
class Order:
    """The order that authors specify for a package's objects.

    :param waves: of the objects that specify one; all others have wave 0.
    :param needs: by object, those that have to be current before it.
    :param late: namespaces and definitions that need other objects, and so
        cannot be among the first.
    """

    waves: Mapping[ObjectRef, int] = dataclasses.field(default_factory=dict)
    needs: Needs = dataclasses.field(default_factory=dict)
    late: frozenset[ObjectRef] = frozenset()

    def wave(self, ref: ObjectRef) -> int:
        return self.waves.get(ref, 0)


NONE = Order()


def find_cycle(
    graph: Mapping[ObjectRef, Iterable[ObjectRef]],
) -> list[ObjectRef]:
    """Return a dependency cycle, its first object at both ends; or none."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        found: list[ObjectRef] = error.args[1]
        return found
    return []


def deletion_order(
    positions: Mapping[ObjectRef, Position], needs: Needs
) -> Iterator[tuple[Position, list[ObjectRef]]]:
    """Yield batches of objects to delete, by position, dependents first.

    If all objects of a position have dependents in later positions, only
    those dependents are deleted earlier than their position.
    """
    dependents: dict[ObjectRef, set[ObjectRef]] = defaultdict(set)
    for ref in positions:
        for other in needs.get(ref, ()):
            if other in positions and other != ref:
                dependents[other].add(ref)
    remaining: dict[Position, dict[ObjectRef, None]] = defaultdict(dict)
    for ref, position in positions.items():
        remaining[position][ref] = None
    open_counts = {ref: len(waiting) for ref, waiting in dependents.items()}

    def free(refs: Iterable[ObjectRef]) -> list[ObjectRef]:
        return [ref for ref in refs if not open_counts.get(ref)]

    for key in sorted(remaining):
        while remaining[key]:
            position, batch = key, free(remaining[key])
            if not batch:
                blocking = _all_dependents(
                    remaining[key], dependents
                ) & _all_refs(remaining)
                early = free(ref for ref in positions if ref in blocking)
                position = min((positions[ref] for ref in early), default=key)
                batch = [r for r in early if positions[r] == position] or [
                    *remaining[key]
                ]
            for ref in batch:
                del remaining[position][ref]
                for other in needs.get(ref, ()):
                    if ref in dependents.get(other, ()):
                        open_counts[other] -= 1
            yield position, batch


def _all_refs(
    remaining: Mapping[Position, Iterable[ObjectRef]],
) -> set[ObjectRef]:
    return {ref for refs in remaining.values() for ref in refs}


def _all_dependents(
    refs: Iterable[ObjectRef], dependents: Mapping[ObjectRef, set[ObjectRef]]
) -> set[ObjectRef]:
    """Return the direct and indirect dependents of these objects."""
    found: set[ObjectRef] = set()
    pending = list(refs)
    while pending:
        new = dependents.get(pending.pop(), set()) - found
        found |= new
        pending.extend(new)
    return found
