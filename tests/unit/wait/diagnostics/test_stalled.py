"""When an error below an object counts, and when it does not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.kinds import event_reasons
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.observation import Observation
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.wait.diagnostics import stalled
from tacker_k8s_cr.wait.diagnostics.stalled import ChildObservation
from tacker_k8s_cr.wait.diagnostics.stalled import ChildStatus
from tacker_k8s_cr.wait.diagnostics.stalled import StallState
from tacker_k8s_cr.wait.progress import AwaitedObject
from tacker_k8s_cr.wait.progress import Goal
from tacker_k8s_cr.wait.progress import WaitState

REF = ObjectRef("test.example.org", "Thing", "ns", "top")


def assess(obj):
    """Report the status that the test sets."""
    status = obj.get("status", {})
    return Verdict(
        State(status.get("state", "in progress")),
        status.get("reason", "so it is"),
        status.get("error", ""),
    )


REGISTRY = Registry({}, Handler(assess))


def thing(name, kind="Thing", **status):
    return {
        "apiVersion": "test.example.org/v1" if kind == "Thing" else "v1",
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": name,
            "generation": 1,
        },
        "status": status,
    }


def event(reason, count=1, kind="Warning"):
    return {
        "type": kind,
        "reason": reason,
        "count": count,
        "message": f"{reason} it was",
    }


def part(obj, depth=1, *events):
    return ChildObservation(obj, assess(obj), depth, events)


def top(*events):
    return part(thing("top"), 0, *events)


def below(*events, **status):
    return part(thing("child", **status), 1, *events)


def thing_view(progress, now, **status):
    return progress.with_observed([thing("top", **status)], now)


def sounded(progress, now, *parts):
    return progress.with_children({REF: (top(), *parts)}, now)


@pytest.fixture
def waiting_object():
    """A wait for one object, of which nothing was seen to move since 0."""
    progress = WaitState(REGISTRY, stall_timeout=10.0).with_awaited(
        {REF: AwaitedObject("top", 1, 0.0)}
    )
    return thing_view(progress, 0.0)


@pytest.mark.requirement("P11")
def test_an_error_below_blocks_after_the_stall_timeout(waiting_object):
    """In the words of what is below, on our clock."""
    child = below(error="Ready/Quota", reason="0 left")
    after = sounded(sounded(waiting_object, 1.0, child), 11.0, child)

    assert State.IN_PROGRESS is after.verdict(REF, 10.9).state
    assert Verdict(
        State.BLOCKED,
        "so it is; Thing.test.example.org/ns/child: 0 left "
        "(unchanged for 10 s)",
        "Ready/Quota",
    ) == after.verdict(REF, 11.0)
    assert (REF,) == after.failed_objects(11.0)


def test_it_is_known_when_an_error_below_would_block(waiting_object):
    """So that a wait sleeps no longer."""
    after = sounded(waiting_object, 1.0, below(error="Ready/Quota"))

    assert 6.0 == after.seconds_until_blocked(5.0)


def test_another_message_below_does_not_restart_the_stall_timeout(
    waiting_object,
):
    """Messages hold counters and times; type and reason decide."""
    first = below(error="Ready/Quota", reason="at 10:00")
    second = below(error="Ready/Quota", reason="at 10:01")
    after = sounded(sounded(waiting_object, 1.0, first), 9.0, second)

    assert State.BLOCKED is after.verdict(REF, 11.0).state
    assert "at 10:01" in after.verdict(REF, 11.0).reason


@pytest.mark.parametrize(
    "moved",
    [
        (below(error="Ready/Quota", readyReplicas=1),),
        (below(error="Ready/Other"),),
        (below(error="Ready/Quota"), part(thing("second"))),
        (
            below(
                error="Ready/Quota",
                conditions=[{"type": "A", "status": "True"}],
            ),
        ),
    ],
)
def test_progress_below_restarts_the_stall_timeout(waiting_object, moved):
    """A counter, another error, another object, a condition."""
    after = sounded(waiting_object, 1.0, below(error="Ready/Quota"))
    after = sounded(after, 9.0, *moved)

    assert State.IN_PROGRESS is after.verdict(REF, 18.9).state
    assert State.BLOCKED is after.verdict(REF, 19.0).state


def test_progress_above_restarts_the_stall_timeout(waiting_object):
    """The object gets on, whatever is below."""
    after = sounded(waiting_object, 1.0, below(error="Ready/Quota"))
    after = thing_view(after, 9.0, readyReplicas=1)

    assert State.IN_PROGRESS is after.verdict(REF, 18.9).state
    assert State.BLOCKED is after.verdict(REF, 19.0).state


@pytest.mark.requirement("P12")
def test_without_an_error_nothing_below_ever_blocks(waiting_object):
    """A cluster that provisions for an hour is in progress."""
    after = waiting_object
    for now in range(1, 3600, 60):
        after = sounded(after, float(now), below(reason="provisioning"))

    assert State.IN_PROGRESS is after.verdict(REF, 3600.0).state
    assert after.seconds_until_blocked(3600.0) is None


def test_a_passed_error_below_is_forgotten(waiting_object):
    """A later stall is not an error."""
    after = sounded(waiting_object, 1.0, below(error="Ready/Quota"))
    after = sounded(after, 9.0)

    assert State.IN_PROGRESS is after.verdict(REF, 100.0).state


def test_the_objects_own_error_waits_for_what_is_below(waiting_object):
    """It may be about what is being fixed just now."""
    after = thing_view(
        waiting_object, 0.5, error="Own/Error", reason="own words"
    )
    after = sounded(after, 1.0, below(readyReplicas=1))
    after = sounded(after, 9.0, below(readyReplicas=2))

    assert State.IN_PROGRESS is after.verdict(REF, 18.9).state
    assert "own words (unchanged for 10 s)" == (
        after.verdict(REF, 19.0).reason
    )


def test_a_failed_child_is_an_error(waiting_object):
    """No controller has created a replacement, so far."""
    failed = below(state="failed", reason="out of order")
    after = sounded(sounded(waiting_object, 1.0, failed), 11.0, failed)

    assert State.BLOCKED is after.verdict(REF, 11.0).state
    assert "out of order" in after.verdict(REF, 11.0).reason


def test_a_pod_that_failed_below_is_none(waiting_object):
    """What made it makes another; an evicted one stays for long."""
    pod = part(thing("pod", "Pod", state="failed"))
    after = sounded(sounded(waiting_object, 1.0, pod), 11.0, pod)

    assert State.IN_PROGRESS is after.verdict(REF, 100.0).state


def test_the_deepest_error_is_reported(waiting_object):
    """It is the nearest to the cause."""
    parts = (
        below(error="Ready/Upper", reason="waits for the lower"),
        part(thing("low", error="Ready/Lower", reason="no quota"), 2),
    )
    after = sounded(sounded(waiting_object, 1.0, *parts), 11.0, *parts)

    assert "Ready/Lower" == after.verdict(REF, 11.0).error


# -- Events ------------------------------------------------------------------


def with_events(progress, now, *events, about="child"):
    if about == "top":
        return progress.with_children({REF: (top(*events),)}, now)
    return sounded(progress, now, below(*events))


@pytest.mark.parametrize("about", ["top", "child"])
def test_a_repeated_warning_blocks(waiting_object, about):
    """Of the object or below it, same type and reason."""
    after = with_events(
        waiting_object, 1.0, event("FailedSync", 3), about=about
    )
    after = with_events(after, 6.0, event("FailedSync", 4), about=about)
    verdict = after.verdict(REF, 11.0)

    assert State.BLOCKED is verdict.state
    assert "event/FailedSync" == verdict.error
    assert "event FailedSync (4 times): FailedSync it was" in verdict.reason


@pytest.mark.parametrize("reason", sorted(event_reasons.TIMEOUT_FACTORS))
def test_what_takes_long_has_longer(waiting_object, reason):
    """As a volume that a dead node keeps for six minutes."""
    after = with_events(
        with_events(waiting_object, 1.0, event(reason)), 11.0, event(reason, 2)
    )

    assert State.IN_PROGRESS is after.verdict(REF, 30.9).state
    assert 19.9 == pytest.approx(after.seconds_until_blocked(11.1))
    assert State.BLOCKED is after.verdict(REF, 31.0).state


@pytest.mark.parametrize("aid", ["TriggeredScaleUp", "Nominated"])
def test_a_pod_whose_node_is_being_created_is_waited_for(waiting_object, aid):
    """An autoscaler reported so; that may take a quarter of an hour."""
    coming = event(aid, 1, "Normal")
    after = with_events(
        waiting_object, 1.0, event("FailedScheduling", 1), coming
    )
    after = with_events(after, 11.0, event("FailedScheduling", 3), coming)

    assert State.IN_PROGRESS is after.verdict(REF, 1000.0).state
    after = with_events(waiting_object, 1.0, event("FailedScheduling", 1))
    after = with_events(after, 11.0, event("FailedScheduling", 3))
    assert State.BLOCKED is after.verdict(REF, 11.0).state


def test_a_warning_from_before_counts_for_nothing(waiting_object):
    """It is kept for an hour, and told no more."""
    after = waiting_object
    for now in (1.0, 6.0, 11.0, 16.0):
        after = with_events(after, now, event("FailedMount", 7))

    assert State.IN_PROGRESS is after.verdict(REF, 100.0).state


def test_a_series_of_events_counts(waiting_object):
    """As the scheduler reports it."""
    series = {**event("FailedScheduling"), "series": {"count": 2}}
    again = {**series, "series": {"count": 3}}
    after = with_events(with_events(waiting_object, 1.0, series), 11.0, again)

    assert State.BLOCKED is after.verdict(REF, 11.0).state


def test_a_warning_with_another_message_counts_again(waiting_object):
    """It is an event of its own then."""
    after = with_events(waiting_object, 1.0, event("FailedCreate"))
    after = with_events(
        after, 11.0, event("FailedCreate"), event("FailedCreate")
    )

    assert State.BLOCKED is after.verdict(REF, 11.0).state


@pytest.mark.parametrize("reason", sorted(event_reasons.TRANSIENT))
def test_warnings_that_come_with_work_count_for_nothing(
    waiting_object, reason
):
    """A slow start fails its probe again and again."""
    after = with_events(
        with_events(waiting_object, 1.0, event(reason)), 11.0, event(reason, 9)
    )

    assert State.IN_PROGRESS is after.verdict(REF, 100.0).state


def test_an_event_that_is_not_a_warning_is_not_an_error(waiting_object):
    """However often it is reported."""
    after = with_events(waiting_object, 1.0, event("Pulling", 1, "Normal"))
    after = with_events(after, 11.0, event("Pulling", 9, "Normal"))

    assert State.IN_PROGRESS is after.verdict(REF, 100.0).state


def test_an_event_of_another_reason_is_a_movement(waiting_object):
    """The volume is mounted at last, and an image is pulled."""
    after = with_events(waiting_object, 1.0, event("FailedMount", 1))
    after = with_events(after, 6.0, event("FailedMount", 2))
    after = with_events(
        after, 10.0, event("FailedMount", 2), event("Pulling", 1, "Normal")
    )

    assert State.IN_PROGRESS is after.verdict(REF, 100.0).state


# -- When to look ------------------------------------------------------------


def test_children_of_a_progressing_object_are_not_read(waiting_object):
    """Undisturbed, a wait costs its streams and nothing more."""
    assert () == waiting_object.due_for_inspection(0.9)
    assert (REF,) == waiting_object.due_for_inspection(1.0)
    assert () == thing_view(
        waiting_object, 1.0, readyReplicas=1
    ).due_for_inspection(1.9)


def test_an_error_causes_a_read_at_once(waiting_object):
    """So that its stall_timeout need not begin later."""
    after = thing_view(waiting_object, 0.5, error="Own/Error")

    assert (REF,) == after.due_for_inspection(0.5)


def test_reads_without_findings_become_rarer(waiting_object):
    """From a tenth of stall_timeout up to four; an error is looked at."""
    after = waiting_object
    moments = []
    for tenth in range(200):
        now = tenth / 10
        if after.due_for_inspection(now):
            moments.append(now)
            after = sounded(after, now)

    assert [1.0, 3.0, 6.0, 10.0, 14.0, 18.0] == moments
    wrong = sounded(after, 20.0, below(error="Ready/Quota"))
    assert (REF,) == wrong.due_for_inspection(21.0)


def test_a_long_stall_timeout_does_not_delay_reads():
    """Half a minute, whatever stall_timeout."""
    progress = WaitState(REGISTRY, stall_timeout=86400.0).with_awaited(
        {REF: AwaitedObject("top", 1, 0.0)}
    )

    assert (REF,) == thing_view(progress, 0.0).due_for_inspection(
        stalled.MAX_PAUSE
    )


def test_a_few_objects_at_once():
    """A thousand stalled objects take turns, the longest stalled first."""
    refs = [
        ObjectRef("test.example.org", "Thing", "ns", f"t{number:02}")
        for number in range(25)
    ]
    progress = WaitState(REGISTRY, stall_timeout=10.0).with_awaited(
        {ref: AwaitedObject(ref.name, 1, 0.0) for ref in refs}
    )
    progress = progress.with_observed([thing(ref.name) for ref in refs], 0.0)
    looked = []
    for now in (5.0, 5.1, 5.2, 5.3, 5.4):
        due = progress.due_for_inspection(now)
        assert stalled.MAX_INSPECTED >= len(due)
        looked += due
        progress = progress.with_children(dict.fromkeys(due, ()), now)

    assert refs == looked


def test_children_of_an_object_being_deleted_are_not_read():
    """There is nothing that could be blocked."""
    progress = WaitState(REGISTRY, Goal.DELETED).with_awaited(
        {REF: AwaitedObject("top", 1, 0.0)}
    )

    assert () == thing_view(progress, 0.0).due_for_inspection(1000.0)


def test_writing_an_object_again_forgets_what_was_below(waiting_object):
    """Its stall_timeout begins with our write."""
    after = sounded(waiting_object, 1.0, below(error="Ready/Quota"))
    after = after.with_awaited({REF: AwaitedObject("top", 1, 9.0)})
    after = thing_view(after, 9.0)

    assert State.IN_PROGRESS is after.verdict(REF, 100.0).state


@given(st.lists(st.sampled_from(["", "Ready/Quota"]), max_size=8))
def test_the_count_of_errors_equals_that_of_a_full_check(steps):
    """Brought up to date with each look."""
    progress = WaitState(REGISTRY, stall_timeout=3.0).with_awaited(
        {REF: AwaitedObject("top", 1, 0.0)}
    )
    progress = thing_view(progress, 0.0)
    for now, error in enumerate(steps):
        progress = sounded(progress, float(now), below(error=error))
    now = float(len(steps))
    stuck = progress.verdict(REF, now).state is State.BLOCKED

    assert stuck == bool(progress.failed_objects(now))
    assert 1 == progress.unsettled_count


# -- At once, or when all have settled ---------------------------------------

OTHER = ObjectRef("test.example.org", "Thing", "ns", "other")


def two(patient):
    return WaitState(
        REGISTRY, stall_timeout=10.0, wait_all=patient
    ).with_awaited(
        {
            REF: AwaitedObject("top", 1, 0.0),
            OTHER: AwaitedObject("other", 1, 0.0),
        }
    )


@pytest.mark.requirement("P15")
def test_a_failure_ends_the_wait_at_once():
    """Unless the caller waits for the others too."""
    after = two(False).with_observed([thing("top", state="failed")], 1.0)

    assert (REF,) == after.failures_to_stop_for(1.0)


@pytest.mark.requirement("P15")
def test_a_patient_wait_ends_when_all_have_settled():
    """Current, failed or blocked."""
    after = two(True).with_observed([thing("top", state="failed")], 1.0)

    assert () == after.failures_to_stop_for(1.0)
    assert (REF,) == after.failed_objects(1.0)
    done = after.with_observed([thing("other", state="current")], 2.0)
    assert (REF,) == done.failures_to_stop_for(2.0)
    bad = after.with_observed([thing("other", error="Ready/Quota")], 2.0)
    assert () == bad.failures_to_stop_for(11.9)
    assert {REF, OTHER} == set(bad.failures_to_stop_for(12.0))


def test_a_patient_wait_does_not_spin():
    """An object that is already blocked does not cause a read at once."""
    after = two(True).with_observed([thing("top", error="Ready/Quota")], 1.0)

    assert after.seconds_until_blocked(20.0) is None


def test_an_error_of_its_own_needs_no_other_words():
    """What is below speaks where the object itself does not."""
    below = ChildStatus(
        0.0, 0.0, error="below/Broken", reason="Pod/a/b: broken"
    )
    found = {}
    for error in ("own/Broken", ""):
        seen = Observation(Verdict(State.IN_PROGRESS, "own words", error))
        found[error] = StallState(seen, below, 60.0).blocked_verdict(100.0)

    assert {
        "own/Broken": "own words (unchanged for 100 s)",
        "": "own words; Pod/a/b: broken (unchanged for 100 s)",
    } == {error: verdict.reason for error, verdict in found.items()}
