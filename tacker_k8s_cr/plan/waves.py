"""The order of objects that their authors specify in manifests.

Annotations name waves and other objects. Without them there is no barrier.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import math

from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import selectors
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import namespace_override
from tacker_k8s_cr.plan import order as orders
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.order import Needs
from tacker_k8s_cr.plan.order import Order
from tacker_k8s_cr.plan.placement import PlacedManifest


def order_of(
    items: Sequence[PlacedManifest],
    registry: Registry,
    live_names: Mapping[ObjectRef, str] | None = None,
) -> Order:
    """Return the order of a package, by the live names of its objects.

    :param live_names: names in the cluster that differ from the package.

    Raises PackageInvalid for malformed annotations, for objects that are not
    in the package, and for dependency cycles.
    """
    package = _Package(items)
    waves, needs = package.waves(), package.needs()
    if not waves and not needs and not package.problems:
        return orders.NONE
    late = _late_objects(items, registry, waves, needs)
    implied = package.implied()
    first = {
        item.ref
        for item in items
        if registry[item.ref.group_kind].rank <= ApplyOrder.DEFINITION
        and item.ref not in waves
        and item.ref not in late
    }
    package.check_waves(waves, needs, implied, first)
    package.check_cycles(needs, implied)
    if package.problems:
        raise errors.PackageInvalid(package.problems)
    needs = {
        item.ref: found
        for item in items
        if (
            found := needs.get(item.ref, frozenset())
            | (implied.get(item.ref, frozenset()) & late)
        )
    }
    return _renamed(Order(waves, needs, late), live_names or {})


def recorded_order(manifests: Mapping[ObjectRef, Manifest]) -> Order:
    """Return the order of an instance's objects, by their manifests.

    The annotations were checked when the package was applied.
    """
    named = {ref: ObjectRef.of(m) for ref, m in manifests.items()}
    places: dict[ObjectRef, set[ObjectRef]] = defaultdict(set)
    for ref, name in named.items():
        places[name].add(ref)
    package = _Package(
        [PlacedManifest(named[ref], m, "") for ref, m in manifests.items()]
    )
    waves, needs = package.waves(), package.needs()
    return Order(
        {ref: waves[name] for ref, name in named.items() if name in waves},
        {
            ref: frozenset().union(*(places[other] for other in found))
            for ref, name in named.items()
            if (found := needs.get(name))
        },
    )


def _renamed(order: Order, names: Mapping[ObjectRef, str]) -> Order:
    def live(ref: ObjectRef) -> ObjectRef:
        return ref._replace(name=names.get(ref, ref.name))

    return Order(
        {live(ref): wave for ref, wave in order.waves.items()},
        {
            live(ref): frozenset(map(live, found))
            for ref, found in order.needs.items()
        },
        order.late,
    )


def _late_objects(
    items: Sequence[PlacedManifest],
    registry: Registry,
    waves: Mapping[ObjectRef, int],
    needs: Needs,
) -> frozenset[ObjectRef]:
    """Return definitions and namespaces that need objects of later waves."""
    early = {
        item.ref: waves.get(item.ref, -math.inf)
        for item in items
        if registry[item.ref.group_kind].rank <= ApplyOrder.DEFINITION
    }

    def follows(ref: ObjectRef, other: ObjectRef) -> bool:
        if other in early:
            return early[other] <= early[ref]
        return waves.get(other, 0) < early[ref]

    late: set[ObjectRef] = set()
    while found := {
        ref
        for ref in early
        if not all(follows(ref, other) for other in needs.get(ref, ()))
    }:
        late |= found
        for ref in found:
            del early[ref]
    return frozenset(late)


class _Package:
    """The objects of a package by name, and the problems of their order."""

    def __init__(self, items: Sequence[PlacedManifest]):
        self.items = items
        self.problems: list[Problem] = []
        self.where = {item.ref: item.where for item in items}
        self._named: dict[tuple[str, str, str], list[ObjectRef]]
        self._named = defaultdict(list)
        for ref in self.where:
            self._named[ref.group, ref.kind, ref.name].append(ref)

    def waves(self) -> dict[ObjectRef, int]:
        found = {}
        for item in self.items:
            value = objects.annotation(item.manifest, "wave")
            if value is not None:
                try:
                    found[item.ref] = int(value)
                except ValueError:
                    self._add_problem(item, "wave", value, "a whole number")
        return found

    def needs(self) -> dict[ObjectRef, frozenset[ObjectRef]]:
        """Return by object the dependencies in its annotation."""
        found = {}
        for item in self.items:
            value = objects.annotation(
                item.manifest, namespace_override.DEPENDS_ON
            )
            if value is None:
                continue
            dependencies = (
                self._resolve(item, text) for text in split_list(value)
            )
            known = frozenset(ref for ref in dependencies if ref is not None)
            if known:
                found[item.ref] = known
        return found

    def implied(self) -> dict[ObjectRef, frozenset[ObjectRef]]:
        """Return by object the namespace and the definition that it needs."""
        kinds = {
            kind: definition
            for definition, kind in placement.kinds_by_crd(
                item.manifest for item in self.items
            ).items()
        }
        found = {}
        for ref in self.where:
            namespace_ref = ObjectRef("", "Namespace", "", ref.namespace)
            dependencies = {
                namespace_ref,
                kinds.get(ref.group_kind),
            } & self.where.keys()
            if dependencies:
                found[ref] = frozenset(
                    o for o in dependencies if o is not None
                )
        return found

    def check_waves(
        self,
        waves: Mapping[ObjectRef, int],
        needs: Needs,
        implied: Needs,
        first: Iterable[ObjectRef],
    ) -> None:
        """Add a problem for each dependency on an object of a later wave."""
        early = set(first)
        for ref, where in self.where.items():
            if ref in early:
                continue
            dependencies = needs.get(ref, frozenset()) | implied.get(
                ref, frozenset()
            )
            for other in sorted(dependencies - early):
                wave, needed_wave = waves.get(ref, 0), waves.get(other, 0)
                if needed_wave > wave:
                    what = (
                        f"{ref} of wave {wave} needs {other} of wave "
                        f"{needed_wave} ({self.where[other]}), which comes "
                        "later"
                    )
                    self.problems.append(Problem(where, what))

    def check_cycles(self, needs: Needs, implied: Needs) -> None:
        """Add a problem for each dependency cycle."""
        graph = {
            ref: set(needs.get(ref, ())) | set(implied.get(ref, ()))
            for ref in sorted({*needs, *implied})
        }
        while cycle := orders.find_cycle(graph):
            # The last of the list is the first, and needed by the second.
            cycle_ = list(reversed(cycle))
            start = cycle_.index(min(cycle_[1:]))
            cycle_ = [*cycle_[start:-1], *cycle_[: start + 1]]
            chain = ", which needs ".join(
                f"{ref} ({self.where[ref]})" for ref in cycle_[1:]
            )
            what = f"{cycle_[0]} needs {chain}: each would wait for the other"
            self.problems.append(Problem(self.where[cycle_[0]], what))
            graph[cycle_[0]].discard(cycle_[1])

    def _resolve(self, item: PlacedManifest, text: str) -> ObjectRef | None:
        """Return the object of the package that an annotation names."""
        wanted = "an object such as Deployment.apps/edge/web"
        try:
            named = selectors.parse_subject(text)
        except errors.RequestInvalid:
            self._add_problem(
                item, namespace_override.DEPENDS_ON, text, wanted
            )
            return None
        if not isinstance(named, ObjectRef):
            self._add_problem(
                item, namespace_override.DEPENDS_ON, text, wanted
            )
            return None
        known = self._named[named.group, named.kind, named.name]
        namespace = named.namespace or item.ref.namespace
        found = [ref for ref in known if ref.namespace in (namespace, "")]
        if not found and not named.namespace:
            found = known
        if len(found) == 1:
            return found[0]
        if found:
            why = f"{', '.join(map(str, sorted(found)))}: which is meant?"
        else:
            similar = ", ".join(map(str, sorted(known)))
            why = "is not in the package" + (
                f"; it has {similar}" * bool(similar)
            )
        what = f"{item.ref} depends on {named}: {why}"
        self.problems.append(Problem(item.where, what))
        return None

    def _add_problem(
        self, item: PlacedManifest, annotation: str, value: str, wanted: str
    ) -> None:
        what = (
            f"{item.ref}: annotation {objects.PREFIX}{annotation}: {value!r} "
            f"is not {wanted}"
        )
        self.problems.append(Problem(item.where, what))


def split_list(text: str) -> Iterator[str]:
    """Yield the parts of an annotation that is a list."""
    for part in text.replace("\n", ",").split(","):
        if part.strip():
            yield part.strip()
