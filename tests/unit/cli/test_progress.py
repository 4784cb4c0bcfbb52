"""Progress is shown to people by drawing, to others by lines."""

from __future__ import annotations

import dataclasses
import io
import re
import sys

import pyte
import pytest
from rich.console import Console

from tacker_k8s_cr.cli import display
from tacker_k8s_cr.cli import exit_codes
from tacker_k8s_cr.cli import rich_progress
from tacker_k8s_cr.cli import tree
from tacker_k8s_cr.cli.plain_progress import NullProgress
from tacker_k8s_cr.cli.plain_progress import PlainProgress
from tacker_k8s_cr.cli.standard_error import StandardError
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import ObjectResult
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.model.retries import Retry
from tacker_k8s_cr.wait.progress import AwaitedObject
from tacker_k8s_cr.wait.progress import Goal
from tacker_k8s_cr.wait.progress import WaitState


class Clock:
    """A clock that a test moves."""

    now = 100.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    """A stream that reports to be a terminal."""

    def isatty(self):
        return True


REGISTRY = Registry(
    {},
    Handler(
        lambda obj: Verdict(State(obj["status"]["state"]), "so it [bold] is")
    ),
)


def ref(name):
    return ObjectRef("test.example.org", "Thing", "ns", name)


def thing(name, state="in progress"):
    return {
        "apiVersion": "test.example.org/v1",
        "kind": "Thing",
        "metadata": {"name": name, "namespace": "ns", "uid": name},
        "status": {"state": state},
    }


def waiting(names, goal=Goal.CURRENT):
    return WaitState(REGISTRY, goal, stage="workloads").with_awaited(
        {ref(name): AwaitedObject(name, 0, 100.0) for name in names}
    )


def drawn(renderable, width=100):
    console = Console(file=io.StringIO(), width=width, height=30)
    console.print(renderable)
    return console.file.getvalue()


def test_the_stream_decides_how_progress_is_shown():
    """A terminal is drawn on; a pipe, a dumb one and a log get lines."""
    deadline = Deadline(200.0, Clock())
    xterm = {"TERM": "xterm"}

    def shown(stream, environ=xterm, verbosity=1):
        return type(
            display.progress("x", deadline, stream, environ, verbosity)
        )

    assert rich_progress.RichProgress is shown(Terminal())
    assert PlainProgress is shown(io.StringIO())
    assert PlainProgress is shown(Terminal(), {"TERM": "dumb"})
    assert PlainProgress is shown(Terminal(), {})
    assert NullProgress is shown(Terminal(), verbosity=0)
    assert NullProgress is shown(Terminal(), verbosity=2)


@pytest.mark.requirement("L1")
def test_a_line_is_written_for_each_change_of_verdict():
    """What is known already is not said again; each line has the time."""
    clock = Clock()
    stream = io.StringIO()
    lines = PlainProgress(Deadline(200.0, clock), stream)

    first = waiting("ab")
    lines(first)
    second = first.with_observed([thing("a")], clock.now)
    lines(second)
    clock.now = 103.5
    lines(second.with_observed([thing("a")], clock.now))
    lines(second.with_observed([thing("a", "current"), thing("b")], clock.now))

    assert [
        "   0.0 s  Thing.test.example.org/ns/a: in progress: so it [bold] is",
        "   3.5 s  Thing.test.example.org/ns/a: current: so it [bold] is",
        "   3.5 s  Thing.test.example.org/ns/b: in progress: so it [bold] is",
    ] == stream.getvalue().splitlines()


def test_a_line_reports_a_deleted_object():
    """What is deleted is said once, and not what it was before."""
    stream = io.StringIO()
    lines = PlainProgress(Deadline(200.0, Clock()), stream)
    lines(waiting("a").with_observed([thing("a", "current")], 100.0))

    going = waiting("a", Goal.DELETED)
    lines(going)
    lines(going.with_deleted([ref("a")]))
    lines(going.with_deleted([ref("a")]))

    assert ["deleted"] == [
        line.rpartition(": ")[2] for line in stream.getvalue().splitlines()[1:]
    ]


def test_an_operation_survives_a_closed_progress_stream():
    """A closed stream ends the lines and not the operation."""
    stream = io.StringIO()
    lines = PlainProgress(Deadline(200.0, Clock()), stream)
    stream.close()
    progress = waiting("a").with_observed([thing("a")], 100.0)

    lines(progress)
    lines(progress.with_deleted([ref("a")]))

    assert progress.awaited == lines.last.awaited


def test_a_display_shows_state_reason_and_age_of_what_is_open():
    """The heading counts; each open object has a row; markup is escaped."""
    clock = Clock()
    stream = Terminal()
    shown = rich_progress.RichProgress(
        Deadline(200.0, clock),
        stream,
        "instantiate a",
        Console(file=stream, width=100, height=30),
    )
    shown(waiting("ab").with_observed([thing("a"), thing("b")], clock.now))
    shown(shown.last.with_observed([thing("b", "current")], clock.now))
    clock.now = 107.0

    text = drawn(shown.render())

    assert "instantiate a  7 s  1 of 2 current  workloads" in text
    assert text.index("Thing/b") < text.index("Thing/a")
    row = next(line for line in text.splitlines() if "Thing/a" in line)
    assert "in progress   so it [bold] is " in row
    assert row.rstrip().endswith("7 s")


def test_a_display_stays_short():
    """Of a thousand objects a dozen rows are shown, and how many more."""
    names = [f"n{number}" for number in range(1000)]
    progress = waiting(names)

    table = rich_progress.build_table(progress, [], 101.0, rich_progress.SHOWN)

    assert rich_progress.SHOWN == len(table.rows)
    assert "and 989 more" in drawn(table)


def test_a_display_leaves_nothing_behind_and_colours_only_on_request():
    """Without colour (NO_COLOR) a display writes no colour codes."""
    stream = Terminal()
    console = Console(
        file=stream, force_terminal=True, no_color=True, width=80, height=20
    )
    shown = rich_progress.RichProgress(
        Deadline(200.0, Clock()), stream, "x", console
    )

    with shown:
        shown(waiting("a").with_observed([thing("a", "failed")], 100.0))

    assert "failed" in stream.getvalue()
    assert "\x1b[31m" not in stream.getvalue()
    assert "\x1b[1;31m" not in stream.getvalue()


@pytest.mark.requirement("M5")
def test_a_status_is_a_tree_by_kind():
    """Objects are below their kind, with state and reason."""
    report = Report(
        "site-a",
        "default",
        "status",
        (
            ObjectResult(
                ref("b"),
                Action.MANAGED,
                Verdict(State.FAILED, "no [red] luck"),
            ),
            ObjectResult(
                ref("a"), Action.MANAGED, Verdict(State.CURRENT, "stored")
            ),
        ),
        phase="instantiated",
    )

    assert [
        "site-a  instantiated",
        "└── Thing.test.example.org",
        "    ├── ns/a  current  stored",
        "    └── ns/b  failed  no [red] luck",
    ] == [
        line.rstrip() for line in drawn(tree.build_tree(report)).splitlines()
    ]


# -- What is not written yet -------------------------------------------------


REFUSED = Retry(
    "webhook x.example.org: connection refused",
    100.0,
    1900.0,
    error=errors.DependencyMissing(ref("x"), "words"),
)


def retried(progress, *names):
    return dataclasses.replace(
        progress, unwritten={ref(name): REFUSED for name in names}
    )


def settled(names):
    progress = waiting(names)
    return progress.with_observed([thing(n, "current") for n in names], 100.0)


def displayed(progress, clock=None):
    stream = Terminal()
    shown = rich_progress.RichProgress(
        Deadline(1900.0, clock or Clock()),
        stream,
        "instantiate a",
        Console(file=stream, width=100, height=30),
    )
    shown(progress)
    return drawn(shown.render(), width=200)


def test_a_display_counts_what_is_not_written_yet():
    """It belongs to the whole; why, and until when it is tried, is shown."""
    text = displayed(retried(settled("abcdefghij"), "x", "y", "z"))

    assert "10 of 13 current; 3 not written yet" in text
    assert re.search(
        r"3 not written yet: webhook x\.example\.org: connection refused; "
        r"retrying until (\S+ )?\d\d:\d\d:\d\d \(deadline\)",
        text,
    )


def test_a_line_is_written_when_what_is_not_written_changes():
    """With the same words, and not once for each attempt."""
    clock = Clock()
    stream = io.StringIO()
    lines = PlainProgress(Deadline(1900.0, clock), stream)
    first = settled("a")
    lines(first)
    lines(retried(first, "x", "y"))
    clock.now = 105.0
    lines(retried(first, "x", "y"))
    lines(retried(first, "x"))
    lines(first)

    said = [line.strip() for line in stream.getvalue().splitlines()[1:]]
    assert [
        "0.0 s  1 of 3 current; 2 not written yet: webhook x.example.org",
        "5.0 s  1 of 2 current; 1 not written yet: webhook x.example.org",
    ] == [line.partition(": connection refused; retrying")[0] for line in said]


def test_the_activity_is_shown_while_there_is_nothing_to_count():
    """Not that 0 of 0 objects are current."""
    progress = dataclasses.replace(
        WaitState(REGISTRY), activity="checking 26 objects (dry run)"
    )
    stream = io.StringIO()
    lines = PlainProgress(Deadline(200.0, Clock()), stream)
    lines(progress)
    lines(progress)

    text = displayed(progress)

    assert "instantiate a  0 s  checking 26 objects (dry run)" in text
    assert "0 of 0" not in text
    assert ["   0.0 s  checking 26 objects (dry run)"] == (
        stream.getvalue().splitlines()
    )


def test_a_sentence_about_the_server_stays():
    """What is drawn goes when the operation ends; this does not."""
    stream = Terminal()
    console = Console(file=stream, force_terminal=True, width=80, height=20)
    drawing = rich_progress.RichProgress(
        Deadline(200.0, Clock()), stream, "x", console
    )
    writing = PlainProgress(Deadline(200.0, Clock()), stream)

    with drawing:
        drawing.notify("a [bold] message")
    writing.notify("a message")
    NullProgress(Deadline(200.0, Clock())).notify("unheard of")

    assert "a [bold] message" in stream.getvalue()
    assert "   0.0 s  a message\n" in stream.getvalue()
    assert "unheard" not in stream.getvalue()


def test_an_interrupt_names_what_is_not_written():
    """With the reason, beside what is not current."""
    ended = exit_codes.of_interrupt(
        "instantiate", "a", retried(settled("a"), "x"), 110.0
    )

    assert "1 of 2 object(s) current:" in ended.message
    assert f"{ref('x')}: not written: webhook x.example.org" in ended.message
    assert [ref("x").name] == [
        item["name"] for item in ended.as_dict()["not_written"]
    ]


def test_what_is_written_meanwhile_gets_lines_above_the_drawing(monkeypatch):
    """Neither is drawn over, and nothing of the drawing remains."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    errors_written = StandardError()
    shown = rich_progress.RichProgress(
        Deadline.after(100), errors_written, "change site-a"
    )

    with shown:
        errors_written.write("a line of the log\n")
    errors_written.write("done\n")

    screen = pyte.Screen(80, 24)
    pyte.Stream(screen).feed(stream.getvalue().replace("\n", "\r\n"))
    lines = [line.rstrip() for line in screen.display if line.strip()]
    assert ["a line of the log", "done"] == lines
