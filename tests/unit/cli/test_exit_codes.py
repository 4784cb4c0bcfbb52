"""What an error means by exit code, and as JSON."""

from __future__ import annotations

import copy
import json

import pytest

from tacker_k8s_cr.cli import exit_codes
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.errors import PendingObject
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.wait.progress import AwaitedObject
from tacker_k8s_cr.wait.progress import Goal
from tacker_k8s_cr.wait.progress import WaitState
from tests.fakes.errors import ONE_OF_EACH

REF = ObjectRef("apps", "Deployment", "ns", "web")
LATE = PendingObject(
    REF, Verdict(State.IN_PROGRESS, "1/2 available"), 12.3456, ("a note",)
)
REGISTRY = Registry({}, Handler(lambda obj: Verdict(State.CURRENT, "stored")))


@pytest.mark.parametrize(
    ("error", "begun", "expected"),
    [
        (errors.RequestInvalid("no"), False, 2),
        (errors.Rejected(REF, 422, "Invalid", "no"), False, 2),
        (errors.Rejected(REF, 422, "Invalid", "no"), True, 3),
        (errors.OperationInProgress("a", "b"), False, 2),
        (errors.LockLost("a", "b"), True, 3),
        (errors.ObjectsFailed([LATE], 1), True, 3),
        (errors.ObjectsFailed([LATE], 1), False, 3),
        (errors.ReadinessTimeout([LATE], 1), True, 4),
        (errors.DeletionTimeout([LATE], 1), True, 4),
    ],
)
def test_an_error_has_an_exit_code(error, begun, expected):
    """Refused, failed after a write, and timed out have distinct codes."""
    error.has_written = begun

    assert expected == exit_codes.of_error(error).exit


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (errors.Unavailable("get x", 408, "the deadline passed"), 4),
        (errors.Unreachable("https://a", "refused"), 4),
        (errors.DependencyMissing(REF, "its webhook does not answer"), 4),
        (errors.Rejected(REF, 422, "Invalid", "no"), 2),
        (errors.ObjectsFailed([LATE], 1), 3),
    ],
)
def test_a_timeout_differs_from_a_refusal(error, expected):
    """What was tried until the deadline counts as time that was up."""
    assert expected == exit_codes.of_error(error, late=True).exit


def test_an_error_that_the_deadline_ended_is_a_time_out():
    """Whatever its class, and though other things were done after it."""
    error = errors.DependencyMissing(REF, "its webhook does not answer")
    error.deadline_passed = True
    refused = errors.DryRunFailed([error])
    refused.deadline_passed = True

    assert 4 == exit_codes.of_error(error, late=False).exit
    assert 4 == exit_codes.of_error(refused, late=False).exit


CLASSES = {type(error).__name__: error for error in ONE_OF_EACH}
ALWAYS = {
    "ReadinessTimeout": 4,
    "DeletionTimeout": 4,
    "ObjectsFailed": 3,
    "RollbackIncomplete": 3,
}
"""What these say themselves; others depend on how far the operation came."""


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_each_class_of_errors_has_the_documented_exit_code(name):
    """2 before a write, 3 after it, 4 when the deadline ended it."""
    error = copy.copy(CLASSES[name])
    found = []
    ways = [(False, False), (True, False), (True, True)]
    for begun, late in ways[: 2 if name in ALWAYS else 3]:
        error.has_written = begun
        error.deadline_passed = late
        found.append(int(exit_codes.of_error(error).exit))

    assert found == ([ALWAYS[name]] * 2 if name in ALWAYS else [2, 3, 4])


def test_a_rollback_that_left_something_has_failed():
    """It has come to its end, so that nothing was refused."""
    error = errors.RollbackIncomplete({REF: "it belongs to another instance"})

    assert 3 == exit_codes.of_error(error).exit


def test_an_error_is_a_value_for_json():
    """JSON has the type, the sentence, what was written and what is open."""
    error = errors.ReadinessTimeout([LATE], 60)
    error.written = (REF,)
    ref = {
        "group": "apps",
        "kind": "Deployment",
        "namespace": "ns",
        "name": "web",
    }

    found = json.loads(json.dumps(exit_codes.of_error(error).as_dict()))

    assert {
        "type": "ReadinessTimeout",
        "exit": 4,
        "message": str(error),
        "details": [],
        "written": [ref],
        "unsettled": [
            {
                **ref,
                "state": "in progress",
                "reason": "1/2 available",
                "age": 12.346,
                "notes": ["a note"],
            }
        ],
        "not_written": [],
    } == found


def test_an_interrupt_before_the_first_write_is_reported():
    """Nothing was heard of any object: nothing was written."""
    ended = exit_codes.of_interrupt("instantiate", "a", None, 0.0)

    assert 130 == ended.exit
    assert "before anything was written" in ended.message


@pytest.mark.parametrize("goal", Goal)
def test_an_interrupt_reports_open_objects(goal):
    """Each open object has its age; the text states how to continue."""
    progress = WaitState(REGISTRY, goal).with_awaited(
        {REF: AwaitedObject("u", 1, 10.0)}
    )

    ended = exit_codes.of_interrupt("change", "a", progress, 12.0)

    assert f"{REF}: in progress: nothing heard of it yet (for 2 s)" in (
        ended.message
    )
    assert "status shows it" in ended.message
    assert ((REF,) if goal is Goal.CURRENT else ()) == ended.written


def test_an_internal_error_is_reported_without_its_text():
    """The text of a foreign exception may quote a Secret: it is left out."""
    try:
        exit_codes.of_error("hunter2")
    except AttributeError as error:
        ended = exit_codes.internal_error(error)

    assert 1 == ended.exit
    assert "AttributeError in tacker_k8s_cr.cli.exit_codes, line " in (
        ended.message
    )
    assert "hunter2" not in ended.message
    assert "--debug" in ended.message
