"""Steps, faults and figures, without a process or a server."""

from __future__ import annotations

import itertools

from tools.soak import model
from tools.soak import steps
from tools.soak import summary
from tools.soak.fault_injection import GRACE
from tools.soak.fault_injection import Disturbance
from tools.soak.model import Instance
from tools.soak.model import RecordedState
from tools.soak.model import Request
from tools.soak.outcomes import Outcome
from tools.soak.outcomes import Result
from tools.soak.schedule import Fault
from tools.soak.steps import Step

ABSENT = Instance("soak-00", "soak-ns0", "deployments")
PRESENT = model.apply_request(ABSENT, Request("instantiate", "a"))
CHANGE = Request("change", "b")


def ended(request, *outcomes_, instance=PRESENT, **more):
    step = Step(1, instance, request, 10.0, **more)
    step.outcomes += outcomes_
    step.judge()
    return step


def test_a_step_that_is_done_is_looked_at_as_a_whole():
    """The instance has to be as its request leaves it."""
    step = ended(CHANGE, Outcome(seconds=1.0))
    look = step.create_check({})

    assert (True, True, "b") == (
        look.complete,
        look.undisturbed,
        look.expected.version,
    )
    found = RecordedState(
        "instantiated", "b", "a", {"Deployment/soak-00-front": 2}
    )
    assert "a" == step.next_instance(look, found, True).before


def test_a_step_that_was_killed_is_looked_at_for_what_always_holds():
    """What it has left is found by the look."""
    kill = Request("change", "b", kill=0.1)
    step = ended(kill, Outcome("killed"))
    look = step.create_check({})

    assert (False, False) == (look.complete, look.undisturbed)
    now = step.next_instance(look, RecordedState("changing", "b", "a"), True)
    assert kill == now.unfinished
    assert "" == steps.describe_ending(step, now)
    rest = step.next_instance(
        look, RecordedState("instantiated", "a", ""), True
    )
    assert "nothing was left to do" == steps.describe_ending(step, rest)


def test_leftovers_of_a_kill_stay_until_the_next_write():
    """A read and a refused request leave it; a termination removes it."""
    kill = Request("instantiate", "a", kill=0.1)
    step = ended(kill, Outcome("killed"), instance=ABSENT)
    unclean = step.next_instance(step.create_check({}), RecordedState(), True)
    assert unclean.unclean

    for operation, undisturbed in (("status", False), ("terminate", True)):
        request = Request(operation, expects="refused")
        step = ended(request, Outcome("InstanceNotFound"), instance=unclean)
        look = step.create_check({})
        assert (True, undisturbed) == (look.complete, look.undisturbed)
        now = step.next_instance(look, RecordedState(), True)
        assert now.unclean is not undisturbed
    step = ended(Request("instantiate", "a"), Outcome(), instance=unclean)
    assert step.create_check({}).undisturbed


def test_a_fault_at_the_end_of_an_operation_may_leave_its_lock():
    """Whatever came of it."""
    step = ended(CHANGE, Outcome(), faulty_end=True)
    look = step.create_check({})

    assert (True, False) == (look.complete, look.undisturbed)
    assert step.next_instance(
        look, RecordedState("instantiated", "b"), True
    ).unclean


def test_what_ended_early_has_an_ending():
    """By how it was finished."""
    began = model.settle_state(
        PRESENT, CHANGE, RecordedState("changing", "b", "a")
    )
    for request, said in (
        (CHANGE, "completed"),
        (Request("roll_back"), "rolled back"),
        (Request("terminate"), "terminated"),
    ):
        step = ended(request, Outcome(), instance=began)
        now = model.apply_request(began, request)
        assert said == steps.describe_ending(step, now)


def test_contending_requests_are_one_step():
    """Both outcomes are judged; the lock refuses one of them."""
    step = Step(1, PRESENT, CHANGE, 10.0)
    assert step.can_be_contended
    step = ended(
        CHANGE, Outcome("OperationInProgress"), Outcome(), contended=True
    )

    assert ([Result.BUSY, Result.DONE], [], True) == (
        step.results,
        step.wrong,
        step.complete,
    )
    assert not step.can_be_contended
    both = ended(
        CHANGE,
        Outcome("OperationInProgress"),
        Outcome("OperationInProgress"),
        contended=True,
    )
    assert both.wrong
    assert not both.complete


def test_an_operation_that_is_not_idempotent_is_not_contended():
    """The second rollback undoes another change."""
    for request in (
        Request("roll_back"),
        Request("status"),
        Request("change", "b", kill=0.1),
        Request("change", "stuck", expects="fails"),
    ):
        assert not Step(1, PRESENT, request, 0.0).can_be_contended


class Way:
    """Notes what is brought and ended."""

    def __init__(self):
        self.said = []

    def begin(self, fault):
        self.said.append(f"begin {fault.kind}")

    def end(self, fault):
        self.said.append(f"end {fault.kind}")


def test_faults_are_brought_and_ended_when_they_are_due():
    """And no more after the soak has stopped them."""
    given = (Fault("stall", 10.0, 5.0), Fault("slow", 20.0, 5.0))
    way = Way()
    found = Disturbance(
        way, itertools.chain(given, itertools.repeat(given[1]))
    )

    found.advance(9.0)
    assert (10.0, False, []) == (found.due, found.is_active, way.said)
    found.advance(10.5)
    assert (15.5, True) == (found.due, found.is_active)
    found.advance(16.0)
    assert ["begin stall", "end stall"] == way.said
    found.advance(20.0)
    found.stop(21.0)
    found.advance(1000.0)
    assert ["begin slow", "end slow"] == way.said[2:]
    assert ["stall", "slow"] == [fault.kind for fault in found.started]


def test_whether_there_was_a_fault():
    """Its consequences may show for some seconds."""
    fault = Fault("stall", 10.0, 5.0)
    found = Disturbance(Way(), itertools.repeat(fault))
    assert not found.was_active(0.0, 100.0)

    found.advance(10.0)

    assert not found.was_active(8.0, 9.9)
    assert found.was_active(9.0, 10.0)
    assert found.was_active(15.0 + GRACE, 20.0)
    found.stop(15.0)
    assert not found.was_active(15.1 + GRACE, 20.0)


def test_the_table_has_every_result_and_what_follows_it():
    """Operations by kind; the last row has all of them."""
    found = summary.Figures(seconds=120.0)
    found.add("change", Result.DONE, 1.0)
    found.add("change", Result.DONE, 3.0)
    found.add("change", Result.KILLED, 0.5)
    found.add("heal", Result.DISTURBED, 2.0, "Unavailable")
    found.violations.append(
        summary.Violation(7, "soak-00", "job", "heal", ("it is left",))
    )

    lines = summary.format_table(found)

    assert "Killed" in lines[0]
    row = next(line.split() for line in lines if line.startswith("change"))
    assert ["change", "3", "2"] == row[:3]
    assert ["1.0", "3.0"] == row[-2:]
    assert (
        "4 operations in 2.0 minutes, 2 a minute; violations: 1" == (lines[-1])
    )
    assert "disturbed: Unavailable 1" in "\n".join(lines)
    assert "violation in step 7: heal of soak-00 (job)\n  it is left" == (
        str(found.violations[0])
    )
    assert 3 == sum(found.as_dict()["operations"]["change"].values())
    assert "1 killed" in summary.format_progress(found)
