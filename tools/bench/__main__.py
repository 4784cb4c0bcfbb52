"""The bench's command line: ``python -m tools.bench``, or ``make bench``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import datetime
import functools
import json
import os
import pathlib
import sys
import tempfile
import time
from typing import Any

from tacker_k8s_cr.model.errors import Error
from tools.bench import changed_packages
from tools.bench import concurrency
from tools.bench import crds
from tools.bench import go_programs
from tools.bench import latency
from tools.bench import rows
from tools.bench import sizes
from tools.bench import thousand_objects
from tools.bench.bench_context import BenchContext
from tools.bench.bench_context import BenchResult
from tools.bench.measured_cluster import MeasuredCluster
from tools.plane import binaries
from tools.plane import build
from tools.plane import target
from tools.plane.errors import PlaneError
from tools.plane.kubectl import Kubectl
from tools.plane.lifecycle import Plane
from tools.plane.target import Target

PLANE = ("control plane", "kwok")
"""Of the local plane; Cluster API would only take processor time."""

Part = Callable[[BenchContext], BenchResult]

PARTS: Mapping[str, tuple[str, Part]] = {
    "peers": ("Beside others", thousand_objects.measure),
    "sizes": ("Few and many objects", sizes.measure),
    "waits": ("The end of a wait", latency.measure),
    "crowd": ("Many operations at once", concurrency.measure),
    "change": ("A package applied again", changed_packages.measure),
    # Last, since the server is long busy with what is taken away.
    "definitions": ("A server with many kinds", crds.measure),
}
"""By the name that --only takes: the title of its table, and what to do."""

# Lines appear as they come, into a pipe or a file too.
say = functools.partial(print, flush=True)


def main() -> int:
    arguments = _parser().parse_args()
    try:
        with _cluster() as chosen:
            about, found = _run_parts(chosen, arguments)
    except (Error, PlaneError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        print(f"bench: ended by {interrupt or 'SIGINT'}", file=sys.stderr)
        return 130
    _write(arguments.output, about, found)
    for name, one in found.items():
        title, _ = PARTS[name]
        say(f"\n{title}\n{rows.format_table(one.rows)}" if one.rows else "")
        if one.missing:
            say(f"{title}: not measured: {one.missing}")
    say("\nFor the page on performance:")
    for name, one in found.items():
        if one.rows:
            say(f"\n{rows.format_rst(PARTS[name][0], one.rows)}")
    every = [row for one in found.values() for row in one.rows]
    broken = [row.name for row in every if row.is_met is False]
    missing = [one.missing for one in found.values() if one.missing]
    say(
        f"\nbudgets not met: {'; '.join(broken)}"
        if broken
        else "\nall budgets are met"
    )
    return 1 if broken or missing else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.bench",
        description="Measure ours against kubectl, Helm and client-go, on "
        "the cluster that KUBECONFIG names, else on the local plane. The exit "
        "code is 1 if a budget is not met.",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=tuple(PARTS),
        help="this part; may be given several times (default: all)",
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="that count (default: 5)"
    )
    parser.add_argument(
        "--objects",
        type=int,
        default=1000,
        help="ConfigMaps; sizes takes a tenth and ten times as many too, "
        "and no more Widgets wait at once (default: 1000)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=16,
        help="of the Go client (default: 16, as many as ours)",
    )
    parser.add_argument(
        "--widgets",
        type=int,
        default=30,
        help="waits for one Widget; a third as many for 100, and a tenth "
        "for 1,000 at once (default: 30)",
    )
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("build/bench.json"),
        help="for the numbers (default: build/bench.json)",
    )
    return parser


@contextlib.contextmanager
def _cluster() -> Iterator[Target]:
    """The chosen cluster; a local plane that we start, we stop."""
    chosen = target.choose(os.environ)
    plane = Plane.from_environ(os.environ, say)
    started = chosen.is_local and not plane.records.names()
    if chosen.is_local:
        plane.up(PLANE)
    try:
        yield chosen
    finally:
        if started:
            plane.down()


def _run_parts(
    chosen: Target, arguments: argparse.Namespace
) -> tuple[dict[str, Any], dict[str, BenchResult]]:
    measured_cluster = MeasuredCluster(_kubectl(chosen))
    found = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        context = BenchContext(
            measured_cluster,
            chosen.kubeconfig,
            pathlib.Path(folder),
            functools.partial(
                go_programs.build_program, environ=os.environ, print_line=say
            ),
            say,
            arguments.rounds,
            arguments.objects,
            arguments.workers,
            arguments.widgets,
            unavailable=frozenset(target.find_missing_features(chosen)),
        )
        about = _describe_run(context)
        context = dataclasses.replace(context, noise=about["noise"])
        for name in PARTS:
            if not arguments.only or name in arguments.only:
                title, part = PARTS[name]
                say(f"\n{title}")
                begin = time.monotonic()
                try:
                    found[name] = part(context)
                finally:
                    measured_cluster.delete_namespaces()
                say(f"({time.monotonic() - begin:.0f} s)")
    return about, found


def _kubectl(chosen: Target) -> Kubectl:
    """The kubectl of our own version, whatever is on PATH.

    It is a peer: an older one may take ten times as long.
    """
    store = Plane.from_environ(os.environ).store
    build.build(store, [binaries.ALL["kubectl"]], say)
    return dataclasses.replace(
        target.kubectl(chosen), program=store.path("kubectl")
    )


def _describe_run(context: BenchContext) -> dict[str, Any]:
    """What was measured on, and under what circumstances."""
    version = context.measured_cluster.kubectl.json("version")
    say("seeing what others send while nothing is measured")
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "date": now.isoformat(timespec="seconds"),
        "server": version["serverVersion"]["gitVersion"],
        "helm": go_programs.helm_version(),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "noise": context.measured_cluster.measure_noise(),
        "rounds": context.rounds,
        "objects": context.objects,
        "workers": context.workers,
    }


def _write(
    path: pathlib.Path, about: dict[str, Any], found: Mapping[str, BenchResult]
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = {
        name: {
            "rows": [row.as_dict() for row in one.rows],
            "measured": one.raw,
            "missing": one.missing,
        }
        for name, one in found.items()
    }
    path.write_text(json.dumps({**about, "parts": parts}, indent=1) + "\n")
    say(f"\nthe numbers are in {path}")


if __name__ == "__main__":
    raise SystemExit(main())
