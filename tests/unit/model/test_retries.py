"""What is not written yet, why, and until when it is tried."""

from __future__ import annotations

import datetime
import math

from hypothesis import given
from hypothesis import strategies

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import retries
from tacker_k8s_cr.model.errors import Outlook
from tacker_k8s_cr.model.objects import ObjectRef

NOON = datetime.datetime(2026, 1, 1, 12, 0, 0)


def ref(name):
    return ObjectRef("", "ConfigMap", "default", name)


A, B, C = map(ref, "abc")
STALL = dict.fromkeys((A, B, C), 300.0)


def refused(one, outlook=Outlook.OPEN, cause="connection refused"):
    return errors.DependencyMissing(
        one, "words", webhook="x.example.org", cause=cause, outlook=outlook
    )


def updated(last, now, *given, held=None, deadline=1800.0):
    return retries.update(
        last,
        {error.ref: error for error in given},
        held or {},
        now,
        deadline,
        STALL,
    )


def test_a_transient_error_is_retried_until_the_deadline():
    """From the first attempt on, whatever the words of the later ones."""
    first = updated({}, 10.0, refused(A))
    later = updated(first, 20.0, refused(A, cause="no endpoints"))

    found = later[A]
    assert (10.0, 1800.0, "deadline") == (
        found.since,
        found.until,
        found.limit,
    )
    assert "webhook x.example.org: no endpoints" == found.why
    assert () == retries.find_expired(later, 1799.0)


def test_what_is_doubtful_is_tried_until_the_stall_timeout():
    """It counts from the first answer of that sort."""
    first = updated({}, 10.0, refused(A))
    second = updated(first, 20.0, refused(A, Outlook.DOUBTFUL))
    third = updated(second, 200.0, refused(A, Outlook.DOUBTFUL))

    assert (20.0, 320.0, "stall timeout") == (
        third[A].since,
        third[A].until,
        third[A].limit,
    )
    assert () == retries.find_expired(third, 319.0)
    assert (A,) == retries.find_expired(third, 320.0)


def test_no_attempt_is_announced_beyond_the_deadline():
    """Whatever the stall timeout is."""
    found = updated({}, 10.0, refused(A, Outlook.DOUBTFUL), deadline=50.0)

    assert 50.0 == found[A].until


def test_the_reasons_are_reported_once_each():
    """With how many objects, what goes on, and until when."""
    found = updated(
        {},
        0.0,
        refused(A),
        refused(B),
        held={C: "it depends on Deployment.apps/default/web"},
    )

    assert [
        "2 not written yet: webhook x.example.org: connection refused; "
        "retrying until 12:30:00 (deadline)",
        "1 not written yet: it depends on Deployment.apps/default/web; "
        "waiting until 12:30:00 (deadline)",
    ] == list(retries.format_reasons(found, 0.0, NOON))
    assert "26 of 29 current; 3 not written yet" == (
        retries.format_count(26, 26, "current", found)
    )
    assert "26 of 26 current" == retries.format_count(26, 26, "current", {})


def test_few_reasons_are_reported():
    """A package may have a thousand of them."""
    many = {ref(f"n{n}"): retries.Retry(f"why {n}", 0, 9) for n in range(9)}

    lines = list(retries.format_reasons(many, 0.0, NOON))

    assert retries.LINES + 1 == len(lines)
    assert "6 not written yet for other reasons" == lines[-1]


def test_an_end_on_another_day_has_its_date():
    """And one that never comes is left out."""
    assert "2026-01-02 11:00:00" == retries.format_time(82800.0, 0.0, NOON)
    assert "" == retries.format_time(math.inf, 0.0, NOON)


@given(strategies.integers(0, 10**5), strategies.integers(0, 10**6))
def test_a_time_of_day_does_not_depend_on_when_it_is_shown(now, until):
    """A display that is redrawn shows the same all the time."""
    shown = retries.format_time(until, 0.0, NOON)
    later = NOON + datetime.timedelta(seconds=now)

    again = retries.format_time(until, now, later)

    assert shown.split()[-1] == again.split()[-1]
