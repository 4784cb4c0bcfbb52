"""What a person sees of the demonstration, and what a log gets."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import os
import time
from typing import TextIO

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tacker_k8s_cr.cli import display
from tacker_k8s_cr.cli.plain_progress import NullProgress
from tacker_k8s_cr.model.deadline import Deadline


@dataclasses.dataclass(frozen=True)
class CompletedStep:
    """A step that went as expected."""

    title: str
    seconds: float
    requests: int


class DemoOutput:
    """Lines as the story goes on; colours and a display on a terminal."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._console = Console(
            file=stream, soft_wrap=True, highlight=False, emoji=False
        )
        self.started = time.monotonic()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.started

    def step(self, title: str) -> None:
        self._print(f"{self.elapsed:6.1f} s  [bold]{escape(title)}[/]")

    def print_line(self, text: str) -> None:
        """More about the step that runs."""
        for line in str(text).splitlines():
            self._print(f"          {escape(line)}")

    def done(self, text: str, step: CompletedStep) -> None:
        self._print(
            f"          [green]{escape(text)}[/]  ({step.seconds:.1f} s, "
            f"{step.requests} requests)"
        )

    def failed(self, why: str) -> None:
        for line in why.splitlines():
            self._print(f"          [bold red]{escape(line)}[/]")

    @contextlib.contextmanager
    def progress(
        self, heading: str, deadline: Deadline
    ) -> Iterator[NullProgress]:
        """A listener that shows an operation's progress by object."""
        with display.progress(
            heading, deadline, self._stream, os.environ
        ) as listen:
            yield listen

    def table(self, steps: Sequence[CompletedStep]) -> None:
        """The steps, how long each took, and what it sent."""
        shown = Table(box=box.SIMPLE_HEAD, show_footer=True)
        shown.add_column("Step", "Together")
        seconds = sum(step.seconds for step in steps)
        shown.add_column("Seconds", f"{seconds:.1f}", justify="right")
        requests = sum(step.requests for step in steps)
        shown.add_column("Requests", str(requests), justify="right")
        for step in steps:
            shown.add_row(
                escape(step.title), f"{step.seconds:.1f}", str(step.requests)
            )
        self._console.print(shown)

    def _print(self, markup: str) -> None:
        self._console.print(markup)
        self._stream.flush()
