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

from tools.plane import signals
from tools.plane.errors import PlaneError
from tools.tacker import environment
from tools.tacker import wheel
from tools.upstream import arguments as asked
from tools.upstream import expected
from tools.upstream import run_folders
from tools.upstream import suite_run
from tools.upstream import suites
from tools.upstream import table
from tools.upstream import verdicts
from tools.upstream.column_environment import ColumnEnvironment
from tools.upstream.columns import Column
from tools.upstream.results import Store
from tools.upstream.suites import Suite
from tools.upstream.table import Row

# Lines appear as they come, into a pipe or a file too.
print_line = functools.partial(print, flush=True)


def main() -> int:
    arguments = asked.parser().parse_args()
    try:
        chosen = asked.columns_of(arguments)
        wanted = asked.suites_of(arguments)
        start = time.monotonic()
        broken = []
        with signals.raise_interrupts():
            if not arguments.report:
                suites.check_ports(wanted)
            for column in () if arguments.report else chosen:
                broken += _run(column, wanted, arguments)
        rows = _rows(chosen, wanted, arguments)
        print_line("\n" + table.format_table(rows, chosen))
        print_line(f"in all {time.monotonic() - start:.0f} s")
        _write(arguments, rows)
        return _outcome(rows, broken)
    except PlaneError as error:
        print(f"upstream: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        print(f"upstream: ended by {interrupt or 'SIGINT'}", file=sys.stderr)
        return 130


def _store(column: Column, arguments: argparse.Namespace) -> Store:
    made_of = [
        *(environment.TACKER, environment.KUBERNETES, str(column.settings)),
        *(suite_run.harness(), os.environ.get("KUBECONFIG", "")),
    ]
    if column.is_project_driver:
        tree = pathlib.Path(arguments.tree or wheel.ROOT)
        made_of.append(wheel.digest(tree))
    return Store(arguments.results / column.name, "\n".join(made_of))


def _run(
    column: Column, wanted: Sequence[Suite], arguments: argparse.Namespace
) -> list[str]:
    """Run suites in a column; what ended before its last test."""
    store = _store(column, arguments)
    store.open(fresh=arguments.fresh)
    environment_ = ColumnEnvironment(
        arguments.folder or run_folders.choose(os.environ),
        arguments.shift,
        arguments.tree,
        print_line,
    )
    selected = ["-k", text] if (text := asked.expression(arguments)) else []
    broken = []
    print_line(f"{column.title}")
    needs = {need for suite in wanted for need in suite.needs}
    with environment_.start(column, needs) as suite_environment:
        for suite in wanted:
            print_line(f"  {suite.name}: {suite.title}")
            store.selection(suite.name).unlink(missing_ok=True)
            known = suite_environment.services.unavailable
            if unavailable := [
                known[need] for need in suite.needs & set(known)
            ]:
                print_line(f"    not run: {'; '.join(unavailable)}")
                continue
            done = {
                test
                for test, result in store.read(suite.name).items()
                if not (arguments.again and result.outcome == "failed")
            }
            if done:
                print_line(f"    {len(done)} tests have results already")
            problem = suite_run.run(
                suite_environment, suite, store, selected, done, print_line
            )
            if not problem:
                problem = _without_result(store, suite)
            if problem:
                broken.append(f"{column.title}, {suite.name}: {problem}")
    return broken


def _without_result(store: Store, suite: Suite) -> str:
    found = store.read(suite.name)
    missing = [t for t in store.selected(suite.name) if t not in found]
    if not missing:
        return ""
    log = store.log(suite.name)
    return (
        f"no result of {', '.join(map(suite_run.short, missing))}; see {log}"
    )


def _rows(
    chosen: Sequence[Column],
    wanted: Sequence[Suite],
    arguments: argparse.Namespace,
) -> list[Row]:
    expectations = expected.load()
    rows: dict[tuple[str, str], dict[str, verdicts.Verdict]] = {}
    for column in chosen:
        store = _store(column, arguments)
        for suite in wanted:
            found = store.read(suite.name)
            shown = found if arguments.report else store.selected(suite.name)
            for result in [found[test] for test in shown if test in found]:
                verdict = verdicts.judge(result, column, expectations)
                row = rows.setdefault((suite.name, result.test), {})
                row[column.name] = verdict
    return [Row(suite, test, found) for (suite, test), found in rows.items()]


def _write(arguments: argparse.Namespace, rows: Sequence[Row]) -> None:
    now = datetime.datetime.now(datetime.timezone.utc)
    content: Mapping[str, object] = {
        "date": now.isoformat(timespec="seconds"),
        "tacker": environment.TACKER,
        "rows": table.as_values(rows),
    }
    path = arguments.output or arguments.results / "table.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")
    print_line(f"the table as JSON: {path}")


def _outcome(rows: Sequence[Row], broken: Sequence[str]) -> int:
    for problem in broken:
        print(f"upstream: {problem}", file=sys.stderr)
    if not rows:
        print("upstream: no test was selected", file=sys.stderr)
    surprises = [row for row in rows if row.surprises]
    if surprises:
        print(
            f"upstream: {len(surprises)} tests did not end as expected",
            file=sys.stderr,
        )
    return 1 if surprises or broken or not rows else 0


if __name__ == "__main__":
    raise SystemExit(main())
