"""Numbers of VDUs by scale level, for any VNFD."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.package import Aspect
from tacker_k8s_cr.model.package import Vdu
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.package import replica_counts

NAMES = ("a", "b", "c")


STEPS = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple)
VDUS = ("a", "b")


@st.composite
def vnfds(draw: st.DrawFn, aspects_from: int = 0) -> Vnfd:
    """Two VDUs and up to three aspects, with steps for some of the VDUs."""
    found = draw(
        st.dictionaries(
            st.sampled_from(NAMES),
            st.tuples(
                st.integers(0, 5),
                st.dictionaries(st.sampled_from(VDUS), STEPS, max_size=2),
            ),
            min_size=aspects_from,
            max_size=3,
        )
    )
    first, second = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    return Vnfd(
        id="id",
        flavour="simple",
        vdus={name: Vdu(name, name, 0, 1000) for name in VDUS},
        aspects={
            name: Aspect(name, most, steps)
            for name, (most, steps) in found.items()
        },
        initial=dict(zip(VDUS, (first, second), strict=True)),
        levels={},
        level_numbers={},
        default_level="",
    )


@st.composite
def at_levels(
    draw: st.DrawFn, aspects_from: int = 0
) -> tuple[Vnfd, dict[str, int]]:
    """A VNFD, and a level of each of its aspects."""
    vnfd = draw(vnfds(aspects_from))
    return vnfd, {
        aspect.id: draw(st.integers(0, aspect.max_level))
        for aspect in vnfd.aspects.values()
    }


@st.composite
def moves(draw: st.DrawFn) -> tuple[Vnfd, dict[str, int], str, int]:
    """Also one of its aspects, and another level of that."""
    vnfd, levels = draw(at_levels(aspects_from=1))
    aspect = draw(st.sampled_from(sorted(vnfd.aspects)))
    most = vnfd.aspects[aspect].max_level
    return vnfd, levels, aspect, draw(st.integers(0, most))


VNFD = Vnfd(
    id="id",
    flavour="simple",
    vdus={"web": Vdu("web", "web", 1, 9), "log": Vdu("log", "log", 1, 2)},
    aspects={"size": Aspect("size", 3, {"web": (1, 4)})},
    initial={"web": 1, "log": 1},
    levels={"small": {"size": 0}, "large": {"size": 2}, "huge": {"size": 3}},
    level_numbers={
        "small": {"web": 1, "log": 1},
        "large": {"web": 6, "log": 2},
        "huge": {"web": 10, "log": 2},
    },
    default_level="small",
)


@given(vnfds())
def test_level_zero_is_the_beginning(vnfd: Vnfd) -> None:
    """Without any step there is the initial number of everything."""
    assert dict(vnfd.initial) == replica_counts.replicas(vnfd, {})
    assert (
        dict.fromkeys(vnfd.aspects, 0),
        dict(vnfd.initial),
    ) == replica_counts.at_instantiation_level(vnfd)


@given(at_levels())
def test_numbers_depend_on_the_levels_alone(
    case: tuple[Vnfd, dict[str, int]],
) -> None:
    """So that setting them twice changes nothing, in whatever order."""
    vnfd, levels = case
    backwards = dict(reversed(levels.items()))

    assert replica_counts.replicas(vnfd, levels) == replica_counts.replicas(
        vnfd, backwards
    )


@given(moves())
def test_step_back_undoes_a_step(
    case: tuple[Vnfd, dict[str, int], str, int],
) -> None:
    """Out and in again leads to the same levels and numbers."""
    vnfd, levels, aspect, wanted = case
    steps = wanted - levels[aspect]
    there = replica_counts.levels_after(vnfd, levels, aspect, steps)

    assert wanted == there[aspect]
    assert levels == replica_counts.levels_after(vnfd, there, aspect, -steps)


@given(moves())
def test_step_changes_only_what_its_aspect_scales(
    case: tuple[Vnfd, dict[str, int], str, int],
) -> None:
    """By the step's number, and nothing else."""
    vnfd, levels, aspect, wanted = case
    before = replica_counts.replicas(
        vnfd, {**levels, aspect: max(wanted - 1, 0)}
    )
    after = replica_counts.replicas(vnfd, {**levels, aspect: wanted})
    added = {vdu: after[vdu] - before[vdu] for vdu in vnfd.vdus}
    steps = vnfd.aspects[aspect].steps if wanted else {}

    assert {
        vdu: steps[vdu][min(wanted, len(steps[vdu])) - 1]
        if vdu in steps
        else 0
        for vdu in vnfd.vdus
    } == added


@given(moves(), st.integers(-9, 9))
def test_level_never_leaves_its_bounds(
    case: tuple[Vnfd, dict[str, int], str, int], steps: int
) -> None:
    """A step beyond them is refused, and one within is taken."""
    vnfd, levels, aspect, _ = case
    within = 0 <= levels[aspect] + steps <= vnfd.aspects[aspect].max_level
    try:
        after = replica_counts.levels_after(vnfd, levels, aspect, steps)
    except RequestInvalid:
        assert not within
    else:
        assert within
        assert levels[aspect] + steps == after[aspect]


def test_last_step_repeats_itself() -> None:
    """A single delta is every step's, and so is the last of several."""
    found = [
        replica_counts.scaled_replicas(VNFD, {"size": n})["web"]
        for n in range(4)
    ]

    assert [1, 2, 6, 10] == found


def test_instantiation_level_sets_its_own_replicas() -> None:
    """Also for a VDU that no aspect scales."""
    assert (
        {"size": 2},
        {"web": 6, "log": 2},
    ) == replica_counts.at_instantiation_level(VNFD, "large")
    assert (
        {"size": 0},
        {"web": 1, "log": 1},
    ) == replica_counts.at_instantiation_level(VNFD)


def test_deltas_alone_do_not_set_a_vdu_that_no_aspect_scales() -> None:
    """As in Tacker's v1 API: it has the number of its manifest."""
    assert {"web": 6} == replica_counts.replicas_of_deltas(VNFD, {"size": 2})
    with pytest.raises(RequestInvalid, match="no aspect speed"):
        replica_counts.replicas_of_deltas(VNFD, {"speed": 1})


def test_the_number_of_a_level_wins_over_the_deltas() -> None:
    """And each step adds its delta to it, in both directions."""
    given = {"large": {"web": 3}}
    vnfd = dataclasses.replace(VNFD, level_numbers=given)
    levels, found = replica_counts.at_instantiation_level(vnfd, "large")
    based = replica_counts.with_base(vnfd, levels, found)

    assert ({"size": 2}, {"web": 3, "log": 1}) == (levels, found)
    assert [-2, -1, 3, 7] == [
        replica_counts.replicas(based, {"size": n})["web"] for n in range(4)
    ]
    assert ["level large"] == [
        text.split(":")[0].removeprefix("instantiation ")
        for text in replica_counts.inconsistencies(vnfd)
    ]


@given(at_levels(), st.data())
def test_base_restores_the_replicas_of_its_levels(
    case: tuple[Vnfd, dict[str, int]], data: st.DataObject
) -> None:
    """At the same levels, whatever the numbers are and whatever it had."""
    vnfd, levels = case
    wanted = {vdu: data.draw(st.integers(0, 9)) for vdu in VDUS}

    based = replica_counts.with_base(vnfd, levels, wanted)

    assert wanted == replica_counts.replicas(based, levels)
    assert based == replica_counts.with_base(based, levels, wanted)


def test_a_vdu_without_a_number_is_left_out() -> None:
    """It has that of its manifest until there is a base for it."""
    vnfd = dataclasses.replace(VNFD, initial={"log": 1}, level_numbers={})

    assert ({"size": 2}, {"log": 1}) == replica_counts.at_instantiation_level(
        vnfd, "large"
    )
    assert {"log": 1} == replica_counts.replicas(vnfd, {"size": 2})
    assert {"size": 1} == replica_counts.infer_levels(
        vnfd, {"size": 1}, {"web": 7}
    )


def test_unknown_aspect_is_refused_with_the_known_ones() -> None:
    """The error lists the known ones."""
    expected = "has no aspect speed; its aspects are: size"

    with pytest.raises(RequestInvalid, match=expected):
        replica_counts.levels_after(VNFD, {}, "speed", 1)
    with pytest.raises(RequestInvalid, match=expected):
        replica_counts.replicas(VNFD, {"speed": 1})


def test_level_out_of_bounds_is_refused_with_the_bounds() -> None:
    """The error has the level, its source, and the bounds."""
    with pytest.raises(RequestInvalid) as caught:
        replica_counts.levels_after(VNFD, {"size": 2}, "size", 2)
    assert (
        "aspect size: +2 steps from level 2 lead to level 4; its levels are "
        "0 to 3"
    ) == str(caught.value)
    with pytest.raises(RequestInvalid, match="level -1; its levels"):
        replica_counts.levels_after(VNFD, {}, "size", -1)
    with pytest.raises(
        RequestInvalid, match=r"expected a level from 0 to 3, got 4"
    ):
        replica_counts.replicas(VNFD, {"size": 4})


def test_profile_refuses_a_step_and_not_the_package() -> None:
    """A level may give a number outside it; a scale may not lead there."""
    assert 10 == replica_counts.at_instantiation_level(VNFD, "huge")[1]["web"]
    with pytest.raises(RequestInvalid, match=r"VDU web: .* 10 .* 1 to 9"):
        replica_counts.check_profiles(VNFD, {"log": 1, "web": 10})
    with pytest.raises(RequestInvalid, match=r"VDU log: .* 0 .* 1 to 2"):
        replica_counts.check_profiles(VNFD, {"log": 0, "web": 9})

    unbounded = {"web": dataclasses.replace(VNFD.vdus["web"], maximum=None)}
    vnfd = dataclasses.replace(VNFD, vdus=unbounded)
    replica_counts.check_profiles(vnfd, {"web": 1000})


def test_unknown_instantiation_level_is_refused_with_the_known_ones() -> None:
    """The error lists the known ones."""
    with pytest.raises(
        RequestInvalid, match=r"level x; .*: small, large, huge"
    ):
        replica_counts.at_instantiation_level(VNFD, "x")


@given(vnfds(aspects_from=1), st.data())
def test_levels_are_found_by_their_replicas(vnfd, data):
    """Whichever client scaled, these replicas are those of these levels."""
    moved = data.draw(st.sampled_from(sorted(vnfd.aspects)))
    most = vnfd.aspects[moved].max_level
    before = dict.fromkeys(vnfd.aspects, 0)
    levels = {**before, moved: data.draw(st.integers(0, most))}
    wanted = replica_counts.scaled_replicas(vnfd, levels)

    found = replica_counts.infer_levels(vnfd, before, wanted)

    assert found is not None
    assert wanted == replica_counts.scaled_replicas(vnfd, found)


@given(vnfds(aspects_from=1), st.data())
def test_levels_that_fit_are_kept(vnfd, data):
    """What gives the numbers as it is has not changed."""
    levels = {
        name: data.draw(st.integers(0, aspect.max_level))
        for name, aspect in vnfd.aspects.items()
    }

    assert levels == replica_counts.infer_levels(
        vnfd, levels, replica_counts.scaled_replicas(vnfd, levels)
    )
    assert levels == replica_counts.infer_levels(vnfd, levels, {})


@given(vnfds(aspects_from=1))
def test_numbers_between_levels_are_those_of_none(vnfd):
    """Such as 2 where a step adds 3."""
    most = {name: a.max_level for name, a in vnfd.aspects.items()}
    above = {
        vdu: number + 1
        for vdu, number in replica_counts.scaled_replicas(vnfd, most).items()
    }

    assert not above or None is replica_counts.infer_levels(vnfd, {}, above)
