"""What a wait believes, and when it stops hoping."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.kinds.policy import Readiness
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.wait.progress import AwaitedObject
from tacker_k8s_cr.wait.progress import Goal
from tacker_k8s_cr.wait.progress import WaitState

REF = ObjectRef("test.example.org", "Thing", "ns", "a")


def assess(obj):
    """Report the status that the test sets."""
    status = obj.get("status", {})
    if objects.field(obj, ("metadata", "deletionTimestamp")):
        return Verdict(State.TERMINATING, "deletion requested")
    return Verdict(
        State(status.get("state", "in progress")),
        status.get("reason", "so it is"),
        status.get("error", ""),
    )


REGISTRY = Registry({}, Handler(assess))


def thing(generation=1, uid="u1", annotations=None, version="", **status):
    return {
        "apiVersion": "test.example.org/v1",
        "kind": "Thing",
        "metadata": {
            "name": "a",
            "namespace": "ns",
            "uid": uid,
            "generation": generation,
            "annotations": annotations or {},
            "resourceVersion": version,
        },
        "status": status,
    }


def waiting(goal=Goal.CURRENT, generation=1, stall_timeout=300.0):
    progress = WaitState(REGISTRY, goal, stall_timeout=stall_timeout)
    return progress.with_awaited({REF: AwaitedObject("u1", generation, 0.0)})


def test_nothing_is_settled_before_it_is_seen():
    """An object of which nothing was heard is in progress."""
    assert (REF,) == waiting().unsettled


def test_a_current_object_settles():
    """One read of a current object is enough."""
    assert waiting().with_observed([thing(state="current")], 1.0).is_settled


@given(st.integers(8, 12), st.integers(8, 12))
def test_a_version_older_than_our_write_counts_for_nothing(seen, written):
    """Of a kind without a generation too: versions are compared as numbers."""
    awaited = AwaitedObject("u1", 0, 0.0, version=str(written))
    progress = WaitState(REGISTRY).with_awaited({REF: awaited})
    view = thing(generation=0, version=str(seen), state="current")

    assert (seen >= written) == progress.with_observed([view], 1.0).is_settled


def test_a_version_that_is_not_a_number_is_not_compared():
    """An aggregated API server may have some of its own."""
    awaited = AwaitedObject("u1", 0, 0.0, version="b")
    progress = WaitState(REGISTRY).with_awaited({REF: awaited})

    view = thing(generation=0, version="a", state="current")
    assert progress.with_observed([view], 1.0).is_settled


@given(st.integers(0, 5), st.integers(0, 5))
@pytest.mark.requirement("C1")
def test_a_view_older_than_our_write_counts_for_nothing(seen, written):
    """Never current before the generation that we applied."""
    progress = waiting(generation=written)
    after = progress.with_observed(
        [thing(generation=seen, state="current")], 1.0
    )

    assert (seen >= written) == after.is_settled


def test_another_object_of_that_name_counts_for_nothing():
    """The UID decides, not the name."""
    after = waiting().with_observed([thing(uid="u2", state="current")], 1.0)

    assert not after.is_settled


def test_a_stranger_changes_nothing():
    """What we did not write is passed over."""
    progress = WaitState(REGISTRY)

    assert progress is progress.with_observed([thing(state="current")], 1.0)


@given(st.sampled_from(sorted(s.value for s in State)), st.floats(0, 9))
def test_seeing_a_thing_twice_is_seeing_it_once(state, now):
    """The same view brings the same progress."""
    once = waiting().with_observed([thing(state=state)], now)

    assert once == once.with_observed([thing(state=state)], now)


@pytest.mark.requirement("P15", "C4")
def test_a_failed_object_makes_the_wait_hopeless():
    """Waiting longer would not help."""
    after = waiting().with_observed([thing(state="failed")], 1.0)

    assert (REF,) == after.failed_objects(1.0)


def unchanged(stall_timeout):
    progress = WaitState(REGISTRY, stall_timeout=stall_timeout)
    return progress.with_awaited(
        {REF: AwaitedObject("u1", 1, 0.0, unchanged=True)}
    )


def test_a_failure_from_before_gets_the_stall_timeout():
    """A retry, once its cause was fixed, wrote nothing.

    The controller reports something else only when it tries once more.
    """
    after = unchanged(stall_timeout=10).with_observed(
        [thing(state="failed")], 1.0
    )

    assert () == after.failed_objects(10.9)
    assert State.IN_PROGRESS == after.verdict(REF, 10.9).state
    assert 4.0 == after.seconds_until_blocked(7.0)
    assert (REF,) == after.failed_objects(11.0)
    assert after.with_observed([thing(state="current")], 5.0).is_settled


def test_a_failure_that_comes_after_is_one_at_once():
    """What was unchanged by us moved, and failed."""
    after = unchanged(stall_timeout=10).with_observed(
        [thing(reason="working")], 1.0
    )
    after = after.with_observed([thing(state="failed")], 2.0)

    assert (REF,) == after.failed_objects(2.0)


@pytest.mark.requirement("P12")
def test_an_object_without_an_error_is_never_blocked():
    """A cluster that provisions for an hour is in progress."""
    after = waiting(stall_timeout=10).with_observed(
        [thing(reason="working")], 0.0
    )

    assert State.IN_PROGRESS == after.verdict(REF, 3600.0).state


@pytest.mark.requirement("P11")
def test_the_same_error_for_the_stall_timeout_blocks():
    """And the words of the error come with it."""
    bad = thing(error="Ready/QuotaExceeded", reason="quota exceeded")
    after = waiting(stall_timeout=10).with_observed([bad], 5.0)

    assert State.IN_PROGRESS == after.verdict(REF, 14.9).state
    assert State.BLOCKED == after.verdict(REF, 15.0).state
    assert "quota exceeded" in after.verdict(REF, 15.0).reason
    assert (REF,) == after.failed_objects(15.0)


def test_another_message_of_the_same_error_does_not_restart_the_timeout():
    """Messages hold counters and times; type and reason decide."""
    first = thing(error="Ready/Quota", reason="0 left at 10:00")
    second = thing(error="Ready/Quota", reason="0 left at 10:01")
    after = (
        waiting(stall_timeout=10)
        .with_observed([first], 0.0)
        .with_observed([second], 9.0)
    )

    assert State.BLOCKED == after.verdict(REF, 10.0).state


def test_a_counter_that_moves_restarts_the_stall_timeout():
    """The object makes progress, whatever the error is."""
    first = thing(error="Ready/Quota", readyReplicas=1)
    second = thing(error="Ready/Quota", readyReplicas=2)
    after = (
        waiting(stall_timeout=10)
        .with_observed([first], 0.0)
        .with_observed([second], 9.0)
    )

    assert State.IN_PROGRESS == after.verdict(REF, 18.9).state
    assert State.BLOCKED == after.verdict(REF, 19.0).state


def test_a_passed_error_is_forgotten():
    """A later one has the whole stall_timeout."""
    bad = thing(error="Ready/Quota")
    progress = waiting(stall_timeout=10).with_observed([bad], 0.0)
    progress = progress.with_observed([thing()], 5.0).with_observed([bad], 6.0)

    assert State.IN_PROGRESS == progress.verdict(REF, 15.0).state


def test_an_object_may_set_its_own_stall_timeout():
    """By the annotation stall-timeout, in seconds."""
    bad = thing(
        error="Ready/Quota",
        annotations={objects.PREFIX + "stall-timeout": "3"},
    )
    after = waiting(stall_timeout=300).with_observed([bad], 0.0)

    assert State.BLOCKED == after.verdict(REF, 3.0).state
    assert 3.0 == after.seconds_until_blocked(0.0)


@pytest.mark.requirement("T10")
def test_a_kind_may_have_its_own_stall_timeout():
    """By a request or by its handler; other kinds have the operation's."""
    slow = Readiness(REF.group_kind, stall_timeout=30.0)
    policy = Policy(readiness=(slow,))
    other = REF._replace(kind="Other")
    progress = WaitState(
        policy.apply_to(REGISTRY), stall_timeout=10.0
    ).with_awaited({ref: AwaitedObject("u1", 1, 0.0) for ref in (REF, other)})
    bad = thing(error="Ready/Quota")
    after = progress.with_observed([bad, {**bad, "kind": "Other"}], 0.0)

    assert State.IN_PROGRESS == after.verdict(REF, 29.0).state
    assert State.BLOCKED == after.verdict(REF, 30.0).state
    assert (other,) == after.failed_objects(10.0)
    assert 10.0 == after.seconds_until_blocked(0.0)


@pytest.mark.requirement("T10")
def test_the_annotation_of_an_object_wins_over_the_limit_of_its_kind():
    """It is more specific."""
    policy = Policy(readiness=(Readiness(REF.group_kind, stall_timeout=30.0),))
    progress = WaitState(policy.apply_to(REGISTRY)).with_awaited(
        {REF: AwaitedObject("u1", 1, 0.0)}
    )
    annotations = {objects.PREFIX + "stall-timeout": "3"}
    bad = thing(error="Ready/Quota", annotations=annotations)
    after = progress.with_observed([bad], 0.0)

    assert State.BLOCKED == after.verdict(REF, 3.0).state


def test_it_is_known_when_an_object_would_count_as_blocked():
    """So a wait can sleep that long and no longer."""
    bad = thing(error="Ready/Quota")
    progress = waiting(stall_timeout=10)

    assert progress.seconds_until_blocked(0.0) is None
    assert 7.0 == progress.with_observed([bad], 2.0).seconds_until_blocked(5.0)


def test_an_object_that_another_client_deleted_has_failed():
    """It will not come back by waiting."""
    after = waiting().with_deleted([REF])

    assert "deleted by another client" == after.verdict(REF, 0.0).reason
    assert (REF,) == after.failed_objects(0.0)


def test_a_deletion_settles_when_the_object_is_deleted():
    """A view of it that terminates is not the end of it."""
    progress = waiting(Goal.DELETED).with_observed(
        [thing(state="current")], 1.0
    )

    assert not progress.is_settled
    assert progress.with_deleted([REF]).is_settled


def test_a_late_event_does_not_restore_a_deleted_object():
    """A watch may still hold events from before."""
    progress = waiting(Goal.DELETED).with_deleted([REF])

    assert progress.with_observed([thing()], 2.0).is_settled


def test_writing_an_object_again_forgets_what_was_known():
    """The new generation has to be seen on its own."""
    progress = waiting().with_observed([thing(state="current")], 1.0)
    again = progress.with_awaited({REF: AwaitedObject("u1", 2, 5.0)})

    assert (REF,) == again.unsettled


# -- Objects that are deleted on completion ----------------------------------

JOB = ObjectRef("batch", "Job", "ns", "fast")


def job(deleted=False, **condition):
    metadata = {"name": "fast", "namespace": "ns", "uid": "u1"}
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, "generation": 1},
        "spec": {"ttlSecondsAfterFinished": 0},
        "status": {
            "conditions": [
                {"type": kind, "status": status}
                for kind, status in condition.items()
            ]
        },
    }


def waiting_for_a_job(goal=Goal.CURRENT, time_to_live=None):
    progress = WaitState(kinds.BUILT_IN, goal)
    awaited = AwaitedObject("u1", 1, 0.0, time_to_live=time_to_live)
    return progress.with_awaited({JOB: awaited})


@pytest.mark.requirement("P2")
def test_a_complete_job_may_be_deleted():
    """Its spec sets how long it stays when it is finished."""
    after = waiting_for_a_job().with_observed([job(Complete="True")], 1.0)

    assert after.with_deleted([JOB]).is_settled
    assert State.CURRENT == after.with_deleted([JOB]).verdict(JOB, 2.0).state


@pytest.mark.requirement("P2")
def test_a_complete_job_being_deleted_is_still_current():
    """It is removed in the foreground, so it is seen to terminate."""
    progress = waiting_for_a_job()
    ending = job(deleted=True, Complete="True")

    assert progress.with_observed([ending], 1.0).is_settled
    assert progress.with_observed([ending], 1.0).with_deleted([JOB]).is_settled


def test_a_job_deleted_before_completion_has_failed():
    """A client deleted it."""
    after = waiting_for_a_job().with_observed([job()], 1.0).with_deleted([JOB])

    assert (JOB,) == after.failed_objects(2.0)


@pytest.mark.requirement("P2")
@pytest.mark.parametrize("views", [[], [job()]])
def test_a_job_that_may_have_expired_is_current(views):
    """It ended and was deleted between two views."""
    progress = waiting_for_a_job(time_to_live=5).with_observed(views, 1.0)
    after = progress.with_deleted([JOB], 6.0)

    assert after.is_settled
    assert State.CURRENT == after.verdict(JOB, 6.0).state
    assert "before its result was read" in after.verdict(JOB, 6.0).reason


@pytest.mark.parametrize(
    ("views", "seconds"), [([job()], 4.0), ([job(Failed="True")], 6.0)]
)
def test_a_job_that_cannot_have_expired_has_failed(views, seconds):
    """Its time to live has not passed, or its failure was seen."""
    progress = waiting_for_a_job(time_to_live=5).with_observed(views, 1.0)
    after = progress.with_deleted([JOB], seconds)

    assert (JOB,) == after.failed_objects(seconds)


@pytest.mark.requirement("P2")
def test_an_object_that_is_not_waited_for_may_be_deleted():
    """By readiness none, whatever its status is."""
    readiness = Readiness(REF.group_kind, "none")
    registry = Policy(readiness=(readiness,)).apply_to(REGISTRY)
    progress = WaitState(registry).with_awaited(
        {REF: AwaitedObject("u1", 1, 0.0)}
    )
    after = progress.with_observed([thing(error="Ready/Quota")], 0.0)

    assert after.is_settled
    assert after.with_deleted([REF]).is_settled


def test_a_job_that_terminates_unfinished_is_not_current():
    """What it was asked to do was not done."""
    after = waiting_for_a_job().with_observed([job(deleted=True)], 1.0)

    assert State.TERMINATING == after.verdict(JOB, 1.0).state


def test_a_requested_deletion_of_a_job_is_waited_for():
    """Complete or not."""
    progress = waiting_for_a_job(Goal.DELETED)
    after = progress.with_observed([job(deleted=True, Complete="True")], 1.0)

    assert (JOB,) == after.unsettled
    assert after.with_deleted([JOB]).is_settled


def test_other_kinds_are_not_deleted_on_completion():
    """A current object that vanishes has failed."""
    after = waiting().with_observed([thing(state="current")], 1.0)

    assert (REF,) == after.with_deleted([REF]).failed_objects(1.0)


# -- What is kept up to date -------------------------------------------------

NAMES = ("a", "b", "c")

STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("observed"),
            st.sampled_from(NAMES),
            st.sampled_from(sorted(s.value for s in State)),
            st.sampled_from(["", "Ready/Quota"]),
        ),
        st.tuples(st.just("vanished"), st.sampled_from(NAMES)),
        st.tuples(st.just("awaiting"), st.sampled_from(NAMES)),
    )
)


def stepped(progress, steps):
    for number, step in enumerate(steps):
        ref = ObjectRef("test.example.org", "Thing", "ns", step[1])
        if step[0] == "awaiting":
            progress = progress.with_awaited(
                {ref: AwaitedObject("u1", 1, 0.0)}
            )
        elif step[0] == "vanished":
            progress = progress.with_deleted([ref])
        else:
            obj = thing(state=step[2], error=step[3])
            obj["metadata"]["name"] = step[1]
            progress = progress.with_observed([obj], float(number))
    return progress


@given(STEPS, st.sampled_from(Goal), st.floats(0, 30))
def test_the_open_objects_equal_those_of_a_full_check(steps, goal, now):
    """They are updated with each step, and never counted again."""
    progress = stepped(WaitState(REGISTRY, goal, stall_timeout=10), steps)
    verdicts = progress.verdicts(now)
    is_open = {
        ref
        for ref in progress.awaited
        if verdicts[ref].state is not State.CURRENT
        or (goal is Goal.DELETED and ref not in progress.deleted)
    }
    bad = {
        ref
        for ref in is_open
        if verdicts[ref].state in (State.FAILED, State.BLOCKED)
        and goal is Goal.CURRENT
    }

    assert is_open == set(progress.unsettled)
    assert (not is_open) == progress.is_settled
    assert bad == set(progress.failed_objects(now))


def test_a_step_costs_what_it_changes():
    """A thousand objects or ten thousand: a step judges only its own."""
    judged = []

    def counting(obj):
        judged.append(obj)
        return assess(obj)

    refs = [
        ObjectRef("test.example.org", "Thing", "ns", f"t{number}")
        for number in range(1000)
    ]
    progress = WaitState(Registry({}, Handler(counting))).with_awaited(
        {ref: AwaitedObject("u1", 1, 0.0) for ref in refs}
    )
    obj = thing(state="current")
    obj["metadata"]["name"] = "t7"

    after = progress.with_observed([obj], 1.0)

    assert 1 == len(judged)
    assert 999 == len(after.unsettled)
    assert after.awaited is progress.awaited
    assert after.deleted is progress.deleted


def test_views_that_come_at_once_are_handled_in_order():
    """An error that passed and came back in between is not a stall."""
    bad = thing(error="Ready/Quota")
    progress = waiting(stall_timeout=10).with_observed([bad], 0.0)
    progress = progress.with_observed([thing(), bad], 9.0)

    assert State.IN_PROGRESS == progress.verdict(REF, 12.0).state
