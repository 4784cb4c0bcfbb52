"""The bench's command line: ``python -m tools.bench``, or ``make bench``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import contextlib
import dataclasses
import datetime
import functools
import json
import os
import pathlib
import sys
import tempfile
from typing import Any

from tacker_k8s_cr.errors import Error
from tools.bench import budgets
from tools.bench import building
from tools.bench import latency
from tools.bench import rounds
from tools.bench import rows
from tools.bench import workload
from tools.bench.ground import Ground
from tools.bench.ours import Ours
from tools.bench.peers import GoClient
from tools.bench.peers import KubectlApply
from tools.bench.rounds import Contender
from tools.plane import binaries
from tools.plane import build
from tools.plane import target
from tools.plane.errors import PlaneError
from tools.plane.kubectl import Kubectl
from tools.plane.lifecycle import Plane
from tools.plane.target import Target

PARTS = ("control plane", "kwok")
"""Of the local plane; Cluster API would only take processor time."""

# Lines appear as they come, into a pipe or a file too.
say = functools.partial(print, flush=True)


def main() -> int:
    arguments = _parser().parse_args()
    try:
        with _cluster() as chosen:
            found = _measured(chosen, arguments)
    except (Error, PlaneError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        print(f"bench: ended by {interrupt or 'SIGINT'}", file=sys.stderr)
        return 130
    say("\n" + rows.table(found.rows))
    for reason in found.missing:
        say(f"not measured: {reason}")
    _write(arguments.output, found)
    broken = [row.name for row in found.rows if row.met is False]
    say(
        f"budgets not met: {'; '.join(broken)}"
        if broken
        else "all budgets are met"
    )
    return 1 if arguments.strict and (broken or found.missing) else 0


@dataclasses.dataclass(frozen=True)
class Found:
    """All that a run found out.

    :param missing: why something was not measured.
    """

    rows: tuple[rows.Row, ...]
    rounds: tuple[rounds.Round, ...]
    latency: tuple[float, ...]
    missing: tuple[str, ...]
    about: dict[str, Any]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.bench",
        description="Measure ours against kubectl and client-go, on the "
        "cluster that KUBECONFIG names, else on the local plane.",
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="that count (default: 5)"
    )
    parser.add_argument(
        "--objects", type=int, default=1000, help="ConfigMaps (default: 1000)"
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
        help="to wait for, one by one (default: 30)",
    )
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("build/bench.json"),
        help="for the numbers (default: build/bench.json)",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="exit with 1 if a budget is not met",
    )
    return parser


@contextlib.contextmanager
def _cluster() -> Iterator[Target]:
    """The chosen cluster; a local plane that we start, we stop."""
    chosen = target.choose(os.environ)
    plane = Plane.of(os.environ, say)
    started = chosen.startable and not plane.records.names()
    if chosen.startable:
        plane.up(PARTS)
    try:
        yield chosen
    finally:
        if started:
            plane.down()


def _measured(chosen: Target, arguments: argparse.Namespace) -> Found:
    program = building.client(os.environ, say)
    kubectl = _kubectl(chosen)
    lacking = target.missing(chosen)
    ground = Ground(kubectl)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        objects = pathlib.Path(folder) / "objects.yaml"
        manifests = workload.config_maps(arguments.objects)
        workload.write(objects, manifests)
        go = GoClient(program, chosen.kubeconfig, objects, arguments.workers)
        package = workload.package(manifests)
        plain = Ours(chosen.kubeconfig, package, dry_run=False)
        checked = dataclasses.replace(plain, dry_run=True)
        contenders = {
            budgets.PLAIN: Contender(plain.apply, plain.delete),
            budgets.GO: Contender(go.apply, go.delete),
            budgets.KUBECTL: Contender(KubectlApply(kubectl, objects).apply),
            budgets.CHECKED: Contender(checked.apply, checked.delete),
        }
        try:
            about = _about(ground, arguments)
            measured = _rounds(
                ground, contenders, arguments.rounds, about["noise"]
            )
            seconds = []
            if "stages" not in lacking:
                say(f"waiting for {arguments.widgets} Widgets, one by one")
                with ground.namespace() as namespace:
                    seconds = latency.measured(
                        go, chosen.kubeconfig, namespace, arguments.widgets
                    )
        finally:
            ground.clear()
    return Found(
        (
            *budgets.of_rounds(measured, arguments.objects),
            *(budgets.of_latency(seconds) if seconds else ()),
        ),
        tuple(measured),
        tuple(seconds),
        tuple(reason for what, reason in lacking.items() if what == "stages"),
        about,
    )


def _kubectl(chosen: Target) -> Kubectl:
    """The kubectl of our own version, whatever is on PATH.

    It is a peer: an older one may take ten times as long.
    """
    store = Plane.of(os.environ).store
    build.build(store, [binaries.ALL["kubectl"]], say)
    return dataclasses.replace(
        target.kubectl(chosen), program=store.path("kubectl")
    )


def _about(ground: Ground, arguments: argparse.Namespace) -> dict[str, Any]:
    """What was measured on, and under what circumstances."""
    version = ground.kubectl.json("version")["serverVersion"]["gitVersion"]
    say("seeing what others send while nothing is measured")
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "date": now.isoformat(timespec="seconds"),
        "server": version,
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "noise": ground.noise(),
        "objects": arguments.objects,
        "workers": arguments.workers,
    }


def _rounds(
    ground: Ground,
    contenders: dict[str, Contender],
    count: int,
    noise: float,
) -> list[rounds.Round]:
    found = []
    for number in range(count + 1):
        measured = rounds.run(ground, contenders, number, noise)
        times = ", ".join(
            f"{what} {one.seconds:.2f}"
            for what, one in sorted(measured.items())
        )
        if number:
            found.append(measured)
        name = f"round {number} of {count}" if number else "warm-up"
        say(f"{name}, seconds: {times}")
    return found


def _write(path: pathlib.Path, found: Found) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        **found.about,
        "rows": [row.as_dict() for row in found.rows],
        "rounds": [
            {what: dataclasses.asdict(one) for what, one in each.items()}
            for each in found.rounds
        ],
        "latency": list(found.latency),
        "missing": list(found.missing),
    }
    path.write_text(json.dumps(content, indent=1) + "\n")
    say(f"\nthe numbers are in {path}")


if __name__ == "__main__":
    raise SystemExit(main())
