"""What has to be current before what, as a value, and the way back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import graphlib

from tacker_k8s_cr.model.objects import ObjectRef

Needs = Mapping[ObjectRef, frozenset[ObjectRef]]

Place = tuple[int, int, int]
"""Where an object stands in an order; the lower comes first."""


@dataclasses.dataclass(frozen=True)
class Order:
    """What authors say on the order of a package's objects.

    :param waves: of the objects that name one; the others are of wave 0.
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


def cycle(graph: Mapping[ObjectRef, Iterable[ObjectRef]]) -> list[ObjectRef]:
    """Objects that need each other, the first of them twice; or none."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        found: list[ObjectRef] = error.args[1]
        return found
    return []


def deletion_order(
    places: Mapping[ObjectRef, Place], needs: Needs
) -> Iterator[tuple[Place, list[ObjectRef]]]:
    """Objects that go together, by their places, dependents first.

    Where all of a place is held up by dependents in later places, only
    those dependents go before their time.
    """
    holders: dict[ObjectRef, set[ObjectRef]] = defaultdict(set)
    for ref in places:
        for other in needs.get(ref, ()):
            if other in places and other != ref:
                holders[other].add(ref)
    left: dict[Place, dict[ObjectRef, None]] = defaultdict(dict)
    for ref, at in places.items():
        left[at][ref] = None
    open_ = {ref: len(some) for ref, some in holders.items()}

    def free(refs: Iterable[ObjectRef]) -> list[ObjectRef]:
        return [ref for ref in refs if not open_.get(ref)]

    for key in sorted(left):
        while left[key]:
            at, now = key, free(left[key])
            if not now:
                held = _all_holders(left[key], holders) & _in(left)
                early = free(ref for ref in places if ref in held)
                at = min((places[ref] for ref in early), default=key)
                now = [r for r in early if places[r] == at] or [*left[key]]
            for ref in now:
                del left[at][ref]
                for other in needs.get(ref, ()):
                    if ref in holders.get(other, ()):
                        open_[other] -= 1
            yield at, now


def _in(left: Mapping[Place, Iterable[ObjectRef]]) -> set[ObjectRef]:
    return {ref for refs in left.values() for ref in refs}


def _all_holders(
    refs: Iterable[ObjectRef], holders: Mapping[ObjectRef, set[ObjectRef]]
) -> set[ObjectRef]:
    """What depends on these objects, and what on that, and so on."""
    found: set[ObjectRef] = set()
    look = list(refs)
    while look:
        new = holders.get(look.pop(), set()) - found
        found |= new
        look.extend(new)
    return found
