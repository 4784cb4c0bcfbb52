"""What is drawn for a step, and the state that it is for."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tools.soak import model
from tools.soak import packages
from tools.soak import schedule
from tools.soak.model import Instance
from tools.soak.model import Request

NAME, PLACE = "soak-00", "soak-ns0"
ABSENT = Instance(NAME, PLACE, "deployments")
PRESENT = model.apply_request(ABSENT, Request("instantiate", "a"))
CHANGED = model.apply_observed(
    model.apply_request(PRESENT, Request("change", "b")),
    model.RecordedState(model.AT_REST, "b", "a"),
)


def drawn(instance, count=400, seed=1):
    return [schedule.draw(seed, instance, step) for step in range(count)]


@given(st.integers(0, 2**31), st.integers(0, 1000))
def test_a_seed_draws_the_same_each_time(seed, step):
    """The name of an instance, which differs from run to run, is left out."""
    other = Instance("other-00", PLACE, "deployments")

    assert schedule.draw(seed, ABSENT, step) == (
        schedule.draw(seed, other, step)
    )


def test_seeds_draw_differently():
    """So do the steps of an instance, and instances."""
    assert drawn(PRESENT, seed=1) != drawn(PRESENT, seed=2)
    assert 20 < len(set(drawn(PRESENT)))


def test_all_operations_are_drawn():
    """Of an instance at rest, with each way to be refused."""
    found = {(r.operation, r.expects) for r in drawn(CHANGED)}

    assert {
        ("change", "done"),
        ("change", "fails"),
        ("change", "refused"),
        ("drift", "done"),
        ("forecast", "done"),
        ("heal", "done"),
        ("instantiate", "refused"),
        ("roll_back", "done"),
        ("scale", "done"),
        ("scale", "refused"),
        ("status", "done"),
        ("terminate", "done"),
    } == found


def test_what_does_not_exist_is_instantiated_or_refused():
    """All else is expected to be refused."""
    found = drawn(ABSENT)

    assert {r.operation for r in found if r.expects != "refused"} == (
        {"instantiate"}
    )
    assert {r.expects for r in found if r.operation != "instantiate"} == (
        {"refused"}
    )


@pytest.mark.parametrize(
    ("phase", "began", "operations"),
    [
        (
            "instantiating",
            Request("instantiate", "a"),
            {"instantiate", "roll_back", "terminate"},
        ),
        (
            "instantiating",
            Request("instantiate", "stuck"),
            {"roll_back", "terminate"},
        ),
        (
            "changing",
            Request("change", "b"),
            {"change", "roll_back", "terminate"},
        ),
        (
            "scaling",
            Request("scale", target="Deployment/soak-00-front", number=1),
            {"scale", "roll_back", "terminate"},
        ),
        ("healing", Request("heal"), {"heal", "roll_back", "terminate"}),
        ("terminating", Request("terminate"), {"terminate"}),
    ],
)
def test_an_interrupted_operation_is_repeated_or_undone(
    phase, began, operations
):
    """Nothing else is possible then."""
    found = model.settle_state(
        PRESENT, began, model.RecordedState(phase, "a", "a", {})
    )

    assert operations == {r.operation for r in drawn(found)}


def test_reads_and_refused_requests_are_not_killed():
    """They write nothing; a part of the others is."""
    found = drawn(CHANGED, 2000)
    killed = [request for request in found if request.kill is not None]

    assert not [r for r in killed if r.operation in model.READING]
    assert not [r for r in killed if r.expects == "refused"]
    assert 100 < len(killed) < 400


def test_a_scale_names_what_the_version_has():
    """With a number that may be none."""
    found = [r for r in drawn(CHANGED) if r.operation == "scale"]
    done = [r for r in found if r.expects == "done"]

    assert {r.target for r in done} == (
        packages.targets("deployments", "b", NAME).keys()
    )
    assert set(range(schedule.MOST + 1)) == {r.number for r in done}


def test_faults_follow_one_another():
    """None begins before the last one has ended."""
    kinds = schedule.TRANSPORT + schedule.ANSWERS
    found = list(itertools.islice(schedule.faults(1, kinds), 200))

    ends = [fault.begins + fault.seconds for fault in found]
    assert all(
        end < fault.begins for end, fault in zip(ends, found[1:], strict=False)
    )
    assert set(kinds) == {fault.kind for fault in found}
    assert found == list(itertools.islice(schedule.faults(1, kinds), 200))
