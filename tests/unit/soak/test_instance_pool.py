"""The instances of a soak, and the steps that claim them."""

from __future__ import annotations

import dataclasses

from tools.soak import instance_pool
from tools.soak import model
from tools.soak import outcomes
from tools.soak.instance_pool import InstancePool
from tools.soak.model import Instance
from tools.soak.model import RecordedState
from tools.soak.outcomes import Outcome
from tools.soak.worker import CheckResult

NAMES = ("soak-00", "soak-01")
OTHERS = {"soak-ns0": {}}


def begun():
    instances = [
        Instance(name, "soak-ns0", "configuration", number)
        for number, name in enumerate(NAMES)
    ]
    return InstancePool(1, instances, OTHERS)


def concluded(people, step, outcome=None, found=None, violations=()):
    """Let a step end, and its instance be seen as it has to be."""
    step.outcomes.append(outcome or Outcome())
    step.judge()
    look = people.create_check(step)
    expected = look.expected
    seen = found or RecordedState(
        expected.phase, expected.version, expected.before
    )
    return people.conclude(step, look, CheckResult(seen, tuple(violations)))


def test_an_instance_is_claimed_by_one_step_at_a_time():
    """It is free when what it was left as has been seen."""
    people = begun()

    first, second = (
        people.claim(0.0, last=False),
        people.claim(0.0, last=False),
    )

    assert set(NAMES) == {first.instance.name, second.instance.name}
    assert people.claim(0.0, last=False) is None
    concluded(people, first)
    third = people.claim(1.0, last=False)
    assert first.instance.name == third.instance.name
    assert [1, 2, 3] == [first.number, second.number, third.number]


def test_at_the_end_what_exists_is_terminated():
    """And what a kill may have left is removed."""
    people = begun()
    assert not people.has_work
    step = people.claim(0.0, last=False)
    while step.request.operation != "instantiate":
        concluded(people, step, Outcome("InstanceNotFound"))
        step = people.claim(0.0, last=False)
    concluded(
        people, step, found=RecordedState(model.AT_REST, step.request.version)
    )

    assert people.has_work
    last = people.claim(1.0, last=True)
    assert instance_pool.LAST == last.request
    assert people.claim(1.0, last=True) is None
    concluded(people, last)
    assert not people.has_work


def test_a_violation_has_its_evidence_and_the_steps_before():
    """The next step begins with what was found."""
    people = begun()
    step = people.claim(0.0, last=False)

    found = concluded(
        people, step, Outcome("KeyError"), RecordedState(), ["it is left"]
    )

    assert step.instance.name == found.instance
    assert "it is left" == found.evidence[-1]
    assert "KeyError" in found.evidence[0]
    assert 1 == len(found.history)
    assert "" == people[step.instance.name].phase


def test_operations_that_the_soak_killed_are_not_a_violation():
    """However many of them follow each other, as the seed has drawn them."""
    people = InstancePool(
        1, [Instance(NAMES[0], "soak-ns0", "configuration")], OTHERS
    )
    killed = Outcome(outcomes.KILLED)
    found = RecordedState("terminating", "a")
    for _ in range(2 * instance_pool.TRIES):
        step = people.claim(0.0, last=False)
        step.request = dataclasses.replace(step.request, kill=0.1)

        assert concluded(people, step, killed, found) is None


def test_operations_that_never_succeed_are_a_violation():
    """The instance is then left alone, so that the soak ends."""
    people = InstancePool(
        1, [Instance(NAMES[0], "soak-ns0", "configuration")], OTHERS
    )
    found = []
    while step := people.claim(0.0, last=False):
        late = Outcome("ReadinessTimeout", seconds=step.request.seconds)
        began = RecordedState("terminating", "a")
        found.append(concluded(people, step, late, began))

    assert instance_pool.TRIES == len(found)
    assert found[-1]
    assert "in a row ended early" in found[-1].evidence[-1]
    assert not people.has_work
