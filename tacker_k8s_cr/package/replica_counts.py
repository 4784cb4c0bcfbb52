"""How many of each VDU there are, by scale level and instantiation level.

Pure arithmetic on a VNFD. Counts are absolute, so that setting one twice
changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import itertools

from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.package import Vnfd


def replicas(vnfd: Vnfd, levels: Mapping[str, int]) -> dict[str, int]:
    """By VDU, its number at the scale levels of the aspects.

    An aspect that is not named is at level 0. A VDU of which the descriptor
    gives no number is left out: it has that of its manifest. Profiles are
    not looked at: they refuse a step, not what was instantiated.

    :raises RequestInvalid: an aspect is not known, or its level is out of
        bounds.
    """
    for aspect, level in levels.items():
        _check_level(vnfd, aspect, level)
    return {**vnfd.initial, **scaled_replicas(vnfd, levels)}


def scaled_replicas(vnfd: Vnfd, levels: Mapping[str, int]) -> dict[str, int]:
    """The numbers of the VDUs that aspects scale, without any check."""
    numbers: dict[str, int] = {}
    for aspect in vnfd.aspects.values():
        level = levels.get(aspect.id, 0)
        for vdu, steps in aspect.steps.items():
            if vdu in vnfd.initial:
                before = numbers.get(vdu, vnfd.initial[vdu])
                numbers[vdu] = before + _sum_steps(steps, level)
    return numbers


def scale_levels(vnfd: Vnfd, instantiation_level: str = "") -> dict[str, int]:
    """By aspect its scale level at an instantiation level.

    Without a name the default level counts; a VNFD without levels starts at
    scale level 0 of all aspects.

    :raises RequestInvalid: no level of that name, or none is the default.
    """
    name = instantiation_level or vnfd.default_level
    if not name and not vnfd.levels:
        return dict.fromkeys(vnfd.aspects, 0)
    if name not in vnfd.levels:
        known = ", ".join(vnfd.levels) or "none"
        found = (
            f"no instantiation level {name}" if name else "no default level"
        )
        raise RequestInvalid(
            f"the flavour {vnfd.flavour} has {found}; its levels are: {known}"
        )
    return dict(vnfd.levels[name])


def at_instantiation_level(
    vnfd: Vnfd, instantiation_level: str = ""
) -> tuple[dict[str, int], dict[str, int]]:
    """By aspect its scale level, and by VDU its number, at instantiation.

    The number that VduInstantiationLevels gives wins over the one that the
    deltas give (Tacker's v2 API does the same). A VDU that has neither is
    left out.

    :raises RequestInvalid: no level of that name, or none is the default.
    """
    levels = scale_levels(vnfd, instantiation_level)
    name = instantiation_level or vnfd.default_level
    overrides = vnfd.level_numbers.get(name, {})
    return levels, {
        **vnfd.initial,
        **scaled_replicas(vnfd, levels),
        **overrides,
    }


def replicas_of_deltas(
    vnfd: Vnfd, levels: Mapping[str, int]
) -> dict[str, int]:
    """By VDU that an aspect scales, its number by nothing but the deltas.

    So does Tacker's v1 API, which does not read VduInstantiationLevels: a
    VDU that no aspect scales has the number of its manifest.

    :raises RequestInvalid: an aspect is not known.
    """
    for aspect in levels:
        _check_aspect(vnfd, aspect)
    return scaled_replicas(vnfd, levels)


def with_base(
    vnfd: Vnfd, levels: Mapping[str, int], numbers: Mapping[str, int]
) -> Vnfd:
    """The VNFD whose steps begin where VDUs have these numbers.

    Its ``initial`` is the base of each VDU: its number at these levels,
    without what the steps up to them add. It may be below 0, since a
    descriptor may give a level fewer than its steps add.

    :param numbers: by VDU, its number at these levels.
    """
    base = dict(numbers)
    for aspect in vnfd.aspects.values():
        level = levels.get(aspect.id, 0)
        for vdu, steps in aspect.steps.items():
            if vdu in base:
                base[vdu] -= _sum_steps(steps, level)
    return dataclasses.replace(vnfd, initial=base)


def inconsistencies(vnfd: Vnfd) -> Iterator[str]:
    """Where VduInstantiationLevels and the deltas give different numbers.

    Each API then counts on from another number, so an author should know.
    """
    for level, at in vnfd.levels.items():
        by_deltas = scaled_replicas(vnfd, at)
        for vdu, number in vnfd.level_numbers.get(level, {}).items():
            if by_deltas.get(vdu, number) != number:
                yield (
                    f"instantiation level {level}: VduInstantiationLevels "
                    f"gives VDU {vdu} {number} instances, but its initial "
                    f"delta and scaling steps give {by_deltas[vdu]}; the v2 "
                    "API and the command line start with the first number, "
                    "the v1 API with the second"
                )


def levels_after(
    vnfd: Vnfd, levels: Mapping[str, int], aspect: str, steps: int
) -> dict[str, int]:
    """The scale levels after so many steps of one aspect, in if negative.

    :raises RequestInvalid: the aspect is not known, or its level would be
        out of bounds.
    """
    _check_aspect(vnfd, aspect)
    current = levels.get(aspect, 0)
    target = current + steps
    maximum = vnfd.aspects[aspect].max_level
    if not 0 <= target <= maximum:
        raise RequestInvalid(
            f"aspect {aspect}: {steps:+d} steps from level {current} lead to "
            f"level {target}; its levels are 0 to {maximum}"
        )
    return {**dict.fromkeys(vnfd.aspects, 0), **levels, aspect: target}


def infer_levels(
    vnfd: Vnfd, levels: Mapping[str, int], numbers: Mapping[str, int]
) -> dict[str, int] | None:
    """The scale levels at which the VDUs have the numbers that were found.

    Of several the ones nearest to ``levels`` count; None if there are none.
    A VDU of which no number was found fits any level.
    """
    current = {aspect: levels.get(aspect, 0) for aspect in vnfd.aspects}

    def fits(wanted: Mapping[str, int]) -> bool:
        return all(
            numbers.get(vdu, number) == number
            for vdu, number in scaled_replicas(vnfd, wanted).items()
        )

    if fits(current):
        return current
    # An aspect that shares no VDU with another is computed alone; those
    # that do are tried one at a time, since one scale changes one aspect.
    for aspect in vnfd.aspects.values():
        others = {
            vdu
            for other in vnfd.aspects.values()
            if other.id != aspect.id
            for vdu in other.steps
        }
        if others & aspect.steps.keys():
            continue
        for level in range(aspect.max_level + 1):
            at = scaled_replicas(vnfd, {**current, aspect.id: level})
            known = at.keys() & aspect.steps.keys()
            if all(numbers.get(vdu, at[vdu]) == at[vdu] for vdu in known):
                current[aspect.id] = level
                break
    if fits(current):
        return current
    candidates = (
        {**current, aspect.id: level}
        for aspect in vnfd.aspects.values()
        for level in range(aspect.max_level + 1)
    )
    return next(filter(fits, candidates), None)


def _sum_steps(steps: tuple[int, ...], level: int) -> int:
    """What the first so many steps add; the last of them repeats itself."""
    repeated = itertools.chain(steps, itertools.repeat(steps[-1]))
    return sum(itertools.islice(repeated, level))


def _check_level(vnfd: Vnfd, aspect: str, level: int) -> None:
    _check_aspect(vnfd, aspect)
    maximum = vnfd.aspects[aspect].max_level
    if not 0 <= level <= maximum:
        raise RequestInvalid(
            f"aspect {aspect}: expected a level from 0 to {maximum}, "
            f"got {level}"
        )


def _check_aspect(vnfd: Vnfd, aspect: str) -> None:
    if aspect not in vnfd.aspects:
        known = ", ".join(vnfd.aspects) or "none"
        raise RequestInvalid(
            f"the flavour {vnfd.flavour} has no aspect {aspect}; its aspects "
            f"are: {known}"
        )


def check_profiles(vnfd: Vnfd, numbers: Mapping[str, int]) -> None:
    """Refuse numbers outside the bounds of the VDUs' profiles.

    :raises RequestInvalid: names the first VDU whose profile does not allow
        its number.
    """
    for name, number in numbers.items():
        vdu = vnfd.vdus[name]
        maximum = number if vdu.maximum is None else vdu.maximum
        if not vdu.minimum <= number <= maximum:
            raise RequestInvalid(
                f"VDU {name}: the scale leads to {number} instances, but its "
                f"vdu_profile allows {vdu.minimum} to {vdu.maximum}: correct "
                "the profile in the VNFD, or scale fewer steps"
            )
