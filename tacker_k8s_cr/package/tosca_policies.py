"""The policies of a flavour that say how many of each VDU there are.

ETSI GS NFV-SOL 001 spreads a number over five policies; here they become
aspects, steps and levels. A value that has no meaning is a fault. A name that
nothing defines is a doubt: Tacker accepts such a package and fails, if at all,
in the one operation that needs what the name stands for.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.package import Aspect

_POLICY = "tosca.policies.nfv."


class Policies:
    """Those of one flavour.

    :param faults: gets the values that have no meaning.
    :param doubts: gets the names that nothing defines.
    """

    def __init__(
        self,
        listed: Any,
        vdus: Iterable[str],
        faults: list[str],
        doubts: list[str],
    ):
        self.faults = faults
        self.doubts = doubts
        self._vdus = frozenset(vdus)
        self._listed = [listed] if isinstance(listed, dict) else listed
        if not isinstance(self._listed, list | None):
            self.faults.append("policies are not a sequence")
            self._listed = []

    def initial_numbers(self) -> dict[str, int]:
        """By VDU, its number at level 0 of all aspects."""
        found = {}
        path = ("properties", "initial_delta", "number_of_instances")
        for name, policy in self._of("VduInitialDelta"):
            what = f"policy {name}: initial_delta"
            size = read_number(objects.field(policy, path), what, self.faults)
            found.update(dict.fromkeys(self._targets(name, policy), size))
        return found

    def aspects(self) -> dict[str, Aspect]:
        most: dict[str, int] = {}
        order: dict[str, Any] = {}
        steps: dict[str, dict[str, tuple[int, ...]]] = {}
        for _, policy in self._of("ScalingAspects"):
            listed = objects.field(policy, ("properties", "aspects"))
            for name, aspect in string_keys(listed).items():
                size = mapping(aspect).get("max_scale_level")
                what = f"aspect {name}: max_scale_level"
                most[name] = read_number(size, what, self.faults)
                order[name] = mapping(aspect).get("step_deltas")
                steps[name] = {}
        for name, policy in self._of("VduScalingAspectDeltas"):
            aspect = str(objects.field(policy, ("properties", "aspect")))
            if aspect not in steps:
                self._unknown(f"policy {name}: the aspect {aspect}", steps)
                continue
            sizes = self._steps(name, order[aspect], policy)
            targets = self._targets(name, policy)
            if sizes:
                steps[aspect].update(dict.fromkeys(targets, sizes))
        return {
            name: Aspect(name, most[name], by_vdu)
            for name, by_vdu in steps.items()
        }

    def _steps(
        self, name: str, order: Any, policy: Mapping[str, Any]
    ) -> tuple[int, ...]:
        deltas = string_keys(objects.field(policy, ("properties", "deltas")))
        wanted = map(str, order) if isinstance(order, list) else deltas
        sizes = []
        for delta in wanted:
            if delta not in deltas:
                self._unknown(f"policy {name}: the step delta {delta}", deltas)
                continue
            size = mapping(deltas[delta]).get("number_of_instances")
            sizes.append(
                read_number(size, f"policy {name}: {delta}", self.faults)
            )
        if not deltas:
            self.doubts.append(f"policy {name}: has no deltas")
        return tuple(sizes)

    def levels(
        self, aspects: Mapping[str, Aspect]
    ) -> tuple[dict[str, dict[str, int]], str]:
        """By instantiation level its scale levels, and the default's name."""
        found: dict[str, dict[str, int]] = {}
        default: Any = None
        for _, policy in self._of("InstantiationLevels"):
            properties = mapping(policy.get("properties"))
            default = properties.get("default_level", default)
            for name, level in string_keys(properties.get("levels")).items():
                scale = string_keys(mapping(level).get("scale_info"))
                found[name] = self._scale_levels(name, scale, aspects)
        if default is None:
            return found, next(iter(found)) if len(found) == 1 else ""
        if str(default) not in found:
            self._unknown(f"the default level {default}", found)
        return found, str(default)

    def _scale_levels(
        self,
        level: str,
        scale: Mapping[str, Any],
        aspects: Mapping[str, Aspect],
    ) -> dict[str, int]:
        found = dict.fromkeys(aspects, 0)
        for name, info in scale.items():
            what = f"instantiation level {level}: aspect {name}"
            if name not in aspects:
                self._unknown(what, aspects)
                continue
            size = mapping(info).get("scale_level")
            found[name] = read_number(size, what, self.faults)
            if found[name] > aspects[name].max_level:
                self.doubts.append(
                    f"{what} is at {found[name]}, its max_scale_level is "
                    f"{aspects[name].max_level}"
                )
        return found

    def level_numbers(
        self, known: Collection[str]
    ) -> dict[str, dict[str, int]]:
        """By instantiation level, the numbers that VDUs are given for it.

        :param known: the instantiation levels.
        """
        numbers: dict[str, dict[str, int]] = {}
        for name, policy in self._of("VduInstantiationLevels"):
            levels = objects.field(policy, ("properties", "levels"))
            for level, sized in string_keys(levels).items():
                what = f"policy {name}: the level {level}"
                if level not in known:
                    self._unknown(what, known)
                    continue
                count = mapping(sized).get("number_of_instances")
                size = read_number(count, what, self.faults)
                targets = self._targets(name, policy)
                numbers.setdefault(level, {}).update(
                    dict.fromkeys(targets, size)
                )
        return numbers

    def _of(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for entry in self._listed or ():
            for name, policy in string_keys(entry).items():
                if mapping(policy).get("type") == _POLICY + kind:
                    yield name, policy

    def _targets(self, name: str, policy: Mapping[str, Any]) -> list[str]:
        listed = policy.get("targets")
        found = [str(t) for t in listed] if isinstance(listed, list) else []
        for target in found:
            if target not in self._vdus:
                self._unknown(
                    f"policy {name}: the target {target}", self._vdus
                )
        return [target for target in found if target in self._vdus]

    def _unknown(self, what: str, known: Iterable[str]) -> None:
        has = ", ".join(sorted(known)) or "none"
        self.doubts.append(f"{what} is not known; there are: {has}")


def mapping(value: Any) -> Mapping[Any, Any]:
    """The value where it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def string_keys(value: Any) -> dict[str, Any]:
    """A mapping by names: a request's level 1 is the text "1"."""
    return {str(name): item for name, item in mapping(value).items()}


def read_number(value: Any, what: str, faults: list[str]) -> int:
    """A number from 0 on; anything else is a fault, and counts as 0."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    faults.append(f"{what} is {value!r}, wanted a number from 0 on")
    return 0
