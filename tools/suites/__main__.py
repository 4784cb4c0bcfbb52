"""All suites, in the background: ``python -m tools.suites [COMMAND]``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import functools
import pathlib
import shutil
import sys

from tacker_k8s_cr.cli import layout
from tacker_k8s_cr.cli.layout import Column
from tacker_k8s_cr.cli.layout import Shape
from tools.suites import background
from tools.suites import checkout
from tools.suites import records
from tools.suites import suite_run
from tools.suites.suite_run import SuiteFolders
from tools.suites.table import SUITES
from tools.suites.table import Suite

# Lines appear as they come, into a pipe or a file too.
say = functools.partial(print, flush=True)

COLUMNS = (
    Column("Suite", Shape.WHOLE),
    Column("Commit", Shape.WHOLE),
    Column("Began (UTC)", Shape.WHOLE),
    Column("Minutes", Shape.NUMBER),
    Column("Result"),
    Column("Last line"),
)


def main() -> int:
    arguments = _parser().parse_args()
    folders = SuiteFolders(pathlib.Path(__file__).resolve().parents[2])
    chosen = [s for s in SUITES if s.name in (arguments.names or _names())]
    try:
        return int(arguments.call(folders, chosen))
    except background.SuitesRunning:
        say("suites: they run already; see: make suites ARGS=status")
        return 1
    except KeyboardInterrupt:
        say("suites: stopped; make suites goes on with what is left")
        return 130


def _names() -> list[str]:
    return [suite.name for suite in SUITES]


def _name(text: str) -> str:
    if text not in _names():
        known = ", ".join(_names())
        raise argparse.ArgumentTypeError(
            f"no suite has the name {text}; there are: {known}"
        )
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.suites",
        description="Runs each suite that has no result that counts at the "
        "commit that is checked out. A result counts if the suite passed "
        "and nothing that it covers has changed since. The suites run on a "
        "checkout of their own below build/suites.",
    )
    parser.set_defaults(call=_start, names=[])
    commands = parser.add_subparsers(metavar="COMMAND")
    for name, call, text in (
        ("start", _start, "run them in the background (without a command)"),
        ("run", _run, "run them in the foreground"),
        ("status", _status, "show the results; exit 1 if one is missing"),
        ("stop", _stop, "end the process in the background"),
    ):
        one = commands.add_parser(name, help=text, description=text)
        one.set_defaults(call=call)
        one.add_argument("names", nargs="*", metavar="SUITE", type=_name)
    return parser


def _start(folders: SuiteFolders, suites: Sequence[Suite]) -> int:
    if background.find_process(folders):
        raise background.SuitesRunning
    owed = suite_run.find_due_suites(
        folders, suites, checkout.head_commit(folders.project)
    )
    if not owed:
        return _status(folders, suites)
    if not checkout.is_clean(folders.project):
        say("suites: what is not committed is not tested")
    names = [suite.name for suite in owed]
    process = background.start(folders, names)
    say(f"suites: process {process} runs {', '.join(names)}")
    say("suites: make suites ARGS=status shows the results")
    return 0


def _run(folders: SuiteFolders, suites: Sequence[Suite]) -> int:
    with background.lock(folders, seconds=5):
        commit = checkout.head_commit(folders.project)
        owed = suite_run.find_due_suites(folders, suites, commit)
        for suite, why in owed.items():
            say(f"suites: {suite.name} runs on {commit[:9]}; before: {why}")
            result = suite_run.run(folders, suite, commit)
            ended = "passed" if result.passed else "failed"
            say(f"suites: {suite.name} {ended} after {result.seconds} s")
    return _status(folders, suites)


def _status(folders: SuiteFolders, suites: Sequence[Suite]) -> int:
    last = records.last(records.read(folders.record))
    owed = suite_run.find_due_suites(
        folders, suites, checkout.head_commit(folders.project)
    )
    rows = []
    for suite in suites:
        row = (suite.name, "", "", "", owed.get(suite, "passed"), "")
        if found := last.get(suite.name):
            row = (
                suite.name,
                found.commit[:9],
                found.began[:16].replace("T", " "),
                f"{found.seconds / 60:.1f}",
                owed.get(suite, "passed"),
                found.said,
            )
        rows.append(row)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for line in layout.format_table(COLUMNS, rows, width):
        say(line)
    if process := background.find_process(folders):
        say(f"suites: process {process} runs; see {folders.folder}/suites.log")
    return 1 if owed else 0


def _stop(folders: SuiteFolders, _suites: Sequence[Suite]) -> int:
    try:
        stopped = background.stop(folders)
    except background.SuitesRunning:
        say("suites: they run in the foreground; Ctrl-C there ends them")
        return 1
    say("suites: stopped" if stopped else "suites: none runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
