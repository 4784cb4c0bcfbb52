"""The command line: ``python -m tools.upstream``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
import functools
import json
import os
import pathlib
import sys
import time

from tools.plane import interrupts
from tools.plane.errors import PlaneError
from tools.tacker import environment
from tools.tacker import wheel
from tools.upstream import cluster
from tools.upstream import columns
from tools.upstream import expected
from tools.upstream import judging
from tools.upstream import places
from tools.upstream import running
from tools.upstream import suites
from tools.upstream import table
from tools.upstream.columns import Column
from tools.upstream.results import Store
from tools.upstream.stand import Place
from tools.upstream.suites import Suite
from tools.upstream.table import Row

# Lines appear as they come, into a pipe or a file too.
say = functools.partial(print, flush=True)

SMOKE = (
    "test_basic_lcms_min or test_inst_term_cnf_with_config_map "
    "or test_scale_cnf_with_statefulset"
)
"""Tests of both versions that take seconds."""


def main() -> int:
    arguments = _parser().parse_args()
    try:
        chosen = _columns(arguments)
        wanted = _suites(arguments)
        begun = time.monotonic()
        broken = []
        with interrupts.raised():
            for column in () if arguments.report else chosen:
                broken += _run(column, wanted, arguments)
        rows = _rows(chosen, wanted, arguments)
        say("\n" + table.text(rows, chosen))
        say(f"in all {time.monotonic() - begun:.0f} s")
        _write(arguments, rows)
        return _outcome(rows, broken)
    except PlaneError as error:
        print(f"upstream: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        print(f"upstream: ended by {interrupt or 'SIGINT'}", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.upstream",
        description="Tacker's own functional tests for Kubernetes, unchanged, "
        "against this project's driver and Tacker's own.",
        epilog="Results are kept: a second run carries out the tests that "
        "have none yet for the same state of the project.",
    )
    parser.add_argument(
        "--suite",
        action="append",
        default=[],
        metavar="NAME",
        help="suite to run, repeatable [all]: "
        + ", ".join(suite.name for suite in suites.SUITES),
    )
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME",
        help="configuration of Tacker, repeatable [all]: "
        + ", ".join(column.name for column in columns.COLUMNS),
    )
    parser.add_argument(
        "--driver",
        action="append",
        default=[],
        metavar="NAME",
        help=f"only columns of this driver: {columns.OURS} or "
        f"{columns.THEIRS}, repeatable [both]",
    )
    parser.add_argument(
        "-k",
        dest="expression",
        default="",
        metavar="EXPRESSION",
        help="only tests that match, as in pytest [all]",
    )
    parser.add_argument(
        "--smoke",
        action="store_true",
        help="three short tests with our driver and compatibility options",
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="forget the results of earlier runs",
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="run tests again that have failed",
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="run nothing; print the table of the results so far",
    )
    parser.add_argument(
        "--results",
        type=pathlib.Path,
        default=pathlib.Path("build/upstream"),
        metavar="FOLDER",
        help="folder of the results [build/upstream]",
    )
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        metavar="FILE",
        help="JSON file of the table [table.json in the folder of results]",
    )
    parser.add_argument(
        "--folder",
        type=pathlib.Path,
        default=None,
        help="folder of what runs [UPSTREAM_RUN, else one for each user]",
    )
    parser.add_argument(
        "--shift",
        type=int,
        default=cluster.SHIFT,
        help="added to the ports of the plane [%(default)s]",
    )
    parser.add_argument(
        "--tree",
        default="",
        metavar="FOLDER",
        help="the project to install [the one that this is in]",
    )
    return parser


def _columns(arguments: argparse.Namespace) -> tuple[Column, ...]:
    if arguments.smoke and not (arguments.column or arguments.driver):
        return columns.chosen(["compatible"])
    return columns.chosen(arguments.column, arguments.driver)


def _suites(arguments: argparse.Namespace) -> tuple[Suite, ...]:
    if arguments.smoke and not arguments.suite:
        return suites.chosen(["v1", "v2"])
    return suites.chosen(arguments.suite)


def _expression(arguments: argparse.Namespace) -> str:
    return SMOKE if arguments.smoke else str(arguments.expression)


def _store(column: Column, arguments: argparse.Namespace) -> Store:
    made_of = [environment.TACKER, str(column.settings)]
    if column.ours:
        tree = pathlib.Path(arguments.tree or wheel.ROOT)
        made_of.append(wheel.digest(tree))
    return Store(arguments.results / column.name, "\n".join(made_of))


def _run(
    column: Column, wanted: Sequence[Suite], arguments: argparse.Namespace
) -> list[str]:
    """Run suites in a column; what ended before its last test."""
    store = _store(column, arguments)
    store.open(fresh=arguments.fresh)
    place = Place(
        arguments.folder or places.chosen(os.environ),
        arguments.shift,
        arguments.tree,
        say,
    )
    selected = ["-k", text] if (text := _expression(arguments)) else []
    broken = []
    say(f"{column.title}")
    needs = {need for suite in wanted for need in suite.needs}
    with place.stand(column, needs) as stand:
        for suite in wanted:
            say(f"  {suite.name}: {suite.title}")
            if lacking := [
                stand.lacking[n] for n in suite.needs & set(stand.lacking)
            ]:
                say(f"    not run: {'; '.join(lacking)}")
                continue
            done = {
                test
                for test, result in store.read(suite.name).items()
                if not (arguments.again and result.outcome == "failed")
            }
            if done:
                say(f"    {len(done)} tests have results already")
            said = running.run(stand, suite, store, selected, done, say)
            if said:
                broken.append(f"{column.title}, {suite.name}: {said}")
    return broken


def _rows(
    chosen: Sequence[Column],
    wanted: Sequence[Suite],
    arguments: argparse.Namespace,
) -> list[Row]:
    expectations = expected.load()
    rows: dict[tuple[str, str], dict[str, judging.Verdict]] = {}
    for column in chosen:
        store = _store(column, arguments)
        for suite in wanted:
            for test, result in store.read(suite.name).items():
                verdict = judging.judge(result, column, expectations)
                rows.setdefault((suite.name, test), {})[column.name] = verdict
    return [Row(suite, test, found) for (suite, test), found in rows.items()]


def _write(arguments: argparse.Namespace, rows: Sequence[Row]) -> None:
    now = datetime.datetime.now(datetime.timezone.utc)
    content: Mapping[str, object] = {
        "date": now.isoformat(timespec="seconds"),
        "tacker": environment.TACKER,
        "rows": table.values(rows),
    }
    path = arguments.output or arguments.results / "table.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")
    say(f"the table as JSON: {path}")


def _outcome(rows: Sequence[Row], broken: Sequence[str]) -> int:
    for said in broken:
        print(f"upstream: {said}", file=sys.stderr)
    surprises = [row for row in rows if row.surprises]
    if surprises:
        print(
            f"upstream: {len(surprises)} tests did not end as expected",
            file=sys.stderr,
        )
    return 1 if surprises or broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
