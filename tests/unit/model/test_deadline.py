"""Time is a number."""

from __future__ import annotations

import itertools

from tacker_k8s_cr.model.deadline import Deadline


def test_a_deadline_counts_down_to_zero():
    """And stays there: a timeout is never negative."""
    ticks = itertools.count(0.0, 4.0)
    deadline = Deadline.after(10, lambda: next(ticks))

    assert [6.0, 2.0, 0.0, 0.0] == [deadline.remaining for _ in range(4)]


def test_a_deadline_is_passed_at_its_moment():
    """Not a moment later."""
    assert Deadline(5.0, lambda: 5.0).expired
    assert not Deadline(5.1, lambda: 5.0).expired


def test_sooner_never_means_later():
    """A part of an operation has at most what is left of it."""
    deadline = Deadline(5.0, lambda: 0.0)

    assert 3.0 == deadline.at_most(3).remaining
    assert 5.0 == deadline.at_most(30).remaining


def test_never_has_no_end():
    """For what another deadline bounds."""
    assert not Deadline.never(lambda: 1e12).expired
