"""Progress on a terminal: pending objects, redrawn in place."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence
from typing import TextIO

from rich import box
from rich.console import Console
from rich.console import Group
from rich.console import RenderableType
from rich.live import Live as Display
from rich.markup import escape
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from tacker_k8s_cr.cli import plain_progress
from tacker_k8s_cr.cli.plain_progress import NullProgress
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.wait.progress import Goal
from tacker_k8s_cr.wait.progress import WaitState

SHOWN = 12
"""Most objects that are shown; a package may have thousands."""

RECENT = 3
"""Objects shown that have settled lately."""

STYLES = {
    State.CURRENT: "green",
    State.IN_PROGRESS: "yellow",
    State.BLOCKED: "red",
    State.FAILED: "bold red",
    State.TERMINATING: "magenta",
}


def build_table(
    progress: WaitState, settled: Sequence[ObjectRef], now: float, rows: int
) -> Table:
    """Return pending objects, the oldest first, and the last to settle.

    :param rows: the most rows.
    """
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=True)
    shown.add_column("Object", overflow="ellipsis", no_wrap=True, ratio=4)
    shown.add_column("State", no_wrap=True, width=11)
    shown.add_column("Reason", overflow="ellipsis", no_wrap=True, ratio=5)
    shown.add_column("Age", no_wrap=True, justify="right", width=6)
    namespaces = {ref.namespace for ref in progress.awaited} - {""}
    waiting = sorted(
        progress.unsettled, key=lambda ref: progress.awaited[ref].since
    )
    done = [ref for ref in settled if ref in progress.awaited][-RECENT:]
    room = max(1, rows - len(done))
    if len(waiting) > room:
        room -= 1  # for the line that counts the rest
    for ref in [*done, *waiting[:room]]:
        verdict = progress.verdict(ref, now)
        age = now - progress.awaited[ref].since
        shown.add_row(
            Text(_brief(ref, namespaces)),
            _state(progress, ref, verdict),
            Text(verdict.reason.partition("\n")[0]),
            f"{age:.0f} s",
        )
    if len(waiting) > room:
        shown.add_row(Text(f"and {len(waiting) - room} more"), "", "", "")
    return shown


def _brief(ref: ObjectRef, namespaces: Collection[str]) -> str:
    """Return the object without a namespace that all rows share."""
    where = f"{ref.namespace}/" if len(namespaces) > 1 else ""
    return f"{ref.kind}/{where if ref.namespace else ''}{ref.name}"


def _state(progress: WaitState, ref: ObjectRef, verdict: Verdict) -> Text:
    if progress.goal is Goal.DELETED and ref in progress.deleted:
        return Text("deleted", "green")
    return Text(verdict.state.value, STYLES[verdict.state])


class RichProgress(NullProgress):
    """A heading and a table that change in place, until the operation ends.

    The drawing is removed at the end, so that only the result remains.
    """

    def __init__(
        self,
        deadline: Deadline,
        stream: TextIO,
        heading: str,
        console: Console | None = None,
    ):
        super().__init__(deadline)
        self._settled: list[ObjectRef] = []
        self._console = console or Console(file=stream)
        self._spinner = Spinner("dots")
        self._heading = heading
        self._display = Display(
            console=self._console,
            get_renderable=self.render,
            refresh_per_second=4,
            transient=True,
        )

    def __call__(self, progress: WaitState) -> None:
        before = self.last
        super().__call__(progress)
        if before is None or before.goal is not progress.goal:
            self._settled = []
            open_before = set(progress.awaited)
        else:
            open_before = set(before.unsettled) | (
                progress.awaited.keys() - before.awaited.keys()
            )
        self._settled += open_before - set(progress.unsettled)

    def notify(self, text: str) -> None:
        """Print above the live display; the text stays when that ends."""
        self._console.print(Text(text))

    def __enter__(self) -> RichProgress:
        self._display.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._display.stop()

    def render(self) -> RenderableType:
        now = self.deadline.now
        progress = self.last
        said = f"[bold]{escape(self._heading)}[/]  {now - self.begun:.0f} s"
        if progress is None:
            said += "  reading the instance"
        else:
            if progress.awaited or progress.unwritten:
                said += f"  {escape(plain_progress.format_count(progress))}"
            if progress.activity or progress.stage:
                doing = progress.activity or progress.stage
                said += f"  [dim]{escape(doing)}[/]"
        self._spinner.update(text=said)
        if progress is None:
            return self._spinner
        why = [
            Text(line)
            for line in plain_progress.format_reasons(progress, self.deadline)
        ]
        if not progress.awaited:
            return Group(self._spinner, *why)
        rows = max(3, min(SHOWN, self._console.height - 5 - len(why)))
        return Group(
            self._spinner,
            *why,
            build_table(progress, self._settled, now, rows),
        )
