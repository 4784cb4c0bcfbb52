"""Delays between attempts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.model import backoff
from tacker_k8s_cr.model.backoff import Backoff

ALL = [value for value in vars(backoff).values() if isinstance(value, Backoff)]


def test_delays_double_up_to_the_limit() -> None:
    """The first attempt is followed by the first delay."""
    found = [Backoff(0.25, 5.0).delay(attempt) for attempt in range(1, 8)]

    assert [0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0] == found


def test_a_share_of_a_delay_is_random() -> None:
    """Clients that failed together do not retry together."""
    half = Backoff(1.0, 8.0, jitter=0.5)

    assert [0.5, 0.75, 1.0] == [half.delay(1, draw) for draw in (0, 0.5, 1)]
    assert [4.0, 8.0] == [half.delay(9, draw) for draw in (0, 1)]


def test_random_seconds_are_added() -> None:
    """The limit is one of the delay without them."""
    spread = Backoff(1.0, 8.0, added_jitter=0.5)

    assert [1.0, 1.5] == [spread.delay(1, draw) for draw in (0, 1)]
    assert 8.5 == spread.delay(99, 1)


@pytest.mark.parametrize("chosen", ALL)
@given(attempt=st.integers(0, 10**9), draw=st.floats(0, 1))
def test_a_delay_has_limits(
    chosen: Backoff, attempt: int, draw: float
) -> None:
    """No number of attempts makes it negative, longer or an error."""
    delay = chosen.delay(attempt, draw)

    assert 0 < delay <= chosen.maximum + chosen.added_jitter


def test_an_interval_grows_with_each_check_without_news() -> None:
    """Up to a fixed multiple of its first value."""
    assert [2.0, 4.0, 6.0, 6.0] == [
        backoff.stretch(2.0, unchanged, 3) for unchanged in range(4)
    ]
