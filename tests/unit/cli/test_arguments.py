"""What the options of commands take, and what they refuse."""

from __future__ import annotations

import argparse

import pytest

from tacker_k8s_cr.cli import arguments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90", 90.0),
        ("0.5", 0.5),
        ("90s", 90.0),
        ("5m", 300.0),
        ("1h", 3600.0),
        ("1h30m", 5400.0),
        ("1.5h", 5400.0),
    ],
)
def test_a_time_is_seconds_or_has_units(text, expected):
    """A time is given in seconds, or as people write it."""
    assert expected == arguments.seconds(text)


@pytest.mark.parametrize(
    "text", ["", "0", "0s", "-5", "5 m", "5d", "m", "1h-", "nan", "inf", "1e3"]
)
def test_a_time_that_is_none_is_refused(text):
    """No time, a negative one and one without end are usage errors."""
    with pytest.raises(argparse.ArgumentTypeError, match="is not a duration"):
        arguments.seconds(text)


def test_a_count_is_a_whole_number_from_zero_on():
    """Zero replicas can be asked for; less, or part of one, cannot."""
    assert 0 == arguments.count("0")
    for text in ("-1", "1.5", "", "three", "\N{SUPERSCRIPT TWO}"):
        with pytest.raises(argparse.ArgumentTypeError):
            arguments.count(text)
