"""This file, that verdict: every state of every kind in the table."""

from __future__ import annotations

import dataclasses
import pathlib
import re

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict

DATA = pathlib.Path(__file__).parent / "data"
FILES = sorted(
    path.relative_to(DATA).with_suffix("").as_posix()
    for path in DATA.glob("*/*.yaml")
)


@dataclasses.dataclass(frozen=True)
class Row:
    """A line of the table: a file, and what it must be judged to be."""

    file: str
    state: State
    reason: str
    error: str = ""


def _rows():
    for line in (DATA / "verdicts.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            file, state, reason, *error = re.split(r"  +", line)
            yield Row(
                file, State(state), reason, "".join(error).removeprefix("!")
            )


ROWS = list(_rows())
SPEAKING = [
    row.file
    for row in ROWS
    if row.state is State.CURRENT
    and "\n  observedGeneration:" in (DATA / f"{row.file}.yaml").read_text()
]
"""Files of current objects, whose controller reports the generation."""


def assess(obj) -> Verdict:
    return kinds.BUILT_IN[GroupKind.of(obj)].assess(obj)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.file)
@pytest.mark.requirement(
    "P1",
    "P12",
    "P13",
    "C1",
    "I1",
    "I2",
    "I3",
    "I4",
    "I7",
    "IN-12",
    "IN-13",
    "CL-14",
)
def test_verdict(row, load):
    """An object of this state gets this verdict."""
    verdict = assess(load(row.file))

    assert row.state is verdict.state
    if row.reason.endswith("..."):
        start = row.reason.removesuffix("...")
        assert start == verdict.reason[: len(start)]
    else:
        assert row.reason == verdict.reason
    assert row.error == verdict.error


def test_every_file_has_a_verdict():
    """No file lies here unjudged, and no line is without its file."""
    assert FILES == sorted(row.file for row in ROWS)


@pytest.mark.parametrize("group_kind", kinds.BUILT_IN.handlers, ids=str)
def test_every_kind_has_files(group_kind, load):
    """A kind in the table has a file, and one for each end of its way.

    What is current once stored has no other state than that.
    """
    states = {
        row.state
        for row in ROWS
        if row.file.startswith(group_kind.kind.lower() + "/")
        and GroupKind.of(load(row.file)) == group_kind
    }
    handler = kinds.BUILT_IN.handlers[group_kind]

    assert State.CURRENT in states
    waits = handler.assess is not kinds.base.stored
    if waits and group_kind.kind not in ONCE_STORED:
        assert states - {State.CURRENT}


ONCE_STORED = {"CronJob", "Ingress"}
"""Kinds whose reason states more than that they are stored."""


WITH_WRITE_TIMES = {"deployment/outdated_condition"}
"""Files whose verdict depends on when the spec was written."""


def test_every_file_states_its_origin():
    """The first line names the controller that wrote it, or its source."""
    texts = {file: (DATA / f"{file}.yaml").read_text() for file in FILES}

    assert [] == [
        file
        for file, text in texts.items()
        if not text.startswith("# Origin: ")
        or ("managedFields" in text and file not in WITH_WRITE_TIMES)
        or f"\nkind: {file.partition('/')[0]}\n" not in text.lower()
    ]


@pytest.mark.parametrize("file", SPEAKING)
@pytest.mark.requirement("P1", "C1")
def test_never_current_before_the_generation_applied(file, load):
    """What was right for one generation proves nothing for the next."""
    obj = load(file)
    obj["metadata"]["generation"] += 1

    assert State.IN_PROGRESS is assess(obj).state


def test_seeing_twice_is_seeing_once(load):
    """A judgement changes nothing, and comes out the same again."""
    for file in FILES:
        obj = load(file)

        assert assess(obj) == assess(obj), file
        assert load(file) == obj, file


def test_an_object_with_a_deletion_timestamp_is_terminating(load):
    """Whatever the status has."""
    for file in FILES:
        obj = load(file)
        obj["metadata"]["deletionTimestamp"] = "2026-11-21T11:30:00Z"

        assert State.TERMINATING is assess(obj).state, file
