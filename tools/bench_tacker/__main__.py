"""The bench through Tacker: ``python -m tools.bench_tacker``.

One Tacker runs; its drivers change.
"""

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
import shutil
import sys
import tempfile
import time

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.objects import ObjectRef
from tests.e2e import packages
from tools import plane
from tools.bench_tacker import lifecycles
from tools.bench_tacker import rows
from tools.bench_tacker.lifecycles import LifeCycle
from tools.bench_tacker.lifecycles import TackerBenchEnvironment
from tools.bench_tacker.rows import Measurement
from tools.plane import service_accounts
from tools.plane import target
from tools.plane.errors import PlaneError
from tools.plane.target import Target
from tools.tacker import Host
from tools.tacker import Options
from tools.tacker import rest_api
from tools.tacker.rest_api import Api
from tools.tacker.vims import Vim

NOTHING = pathlib.Path(__file__).resolve().parent / "nothing"
DRIVERS = {
    rows.NOTHING: "nothing",
    rows.OURS: "kubernetes_cr",
    rows.THEIRS: "kubernetes",
}
VDU = "web"

# Lines appear as they come, into a pipe or a file too.
say = functools.partial(print, flush=True)


def main() -> int:
    arguments = _parser().parse_args()
    chosen = target.choose(os.environ)
    started = False
    try:
        started = chosen.can_start and plane.ensure(say)
        with tempfile.TemporaryDirectory(prefix="bench-tacker-") as folder:
            found = _measure(chosen, pathlib.Path(folder), arguments)
    except (Error, PlaneError) as error:
        print(f"bench-tacker: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        print(
            f"bench-tacker: ended by {interrupt or 'SIGINT'}", file=sys.stderr
        )
        return 130
    finally:
        if started:
            plane.down(say)
    say("\n" + rows.format_table(found))
    _write(arguments, found)
    broken = [row.operation for row in found if row.is_met is False]
    say(
        f"budgets not met: {'; '.join(broken)}"
        if broken
        else "all budgets are met"
    )
    return 1 if arguments.strict and broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.bench_tacker",
        description="Measure operations through a real Tacker: with our "
        "driver, with Tacker's own, and with one that does nothing.",
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="that count (default: 3)"
    )
    parser.add_argument(
        "--theirs",
        type=int,
        default=0,
        help="rounds of Tacker's own driver, which waits ten seconds for "
        "anything (default: 0, the one that else warms up)",
    )
    parser.add_argument(
        "--objects", type=int, default=1000, help="ConfigMaps (default: 1000)"
    )
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("build/bench-tacker.json"),
        help="for the numbers (default: build/bench-tacker.json)",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="exit with 1 if a budget is not met",
    )
    return parser


def _measure(
    chosen: Target, folder: pathlib.Path, arguments: argparse.Namespace
) -> list[rows.Row]:
    plugin = folder / "nothing"
    shutil.copytree(NOTHING, plugin)
    usual = Options(plugins=(str(plugin),))
    host = Host.from_folder(folder / "run", say)
    found: list[Measurement] = []
    try:
        host.up(usual)
        with (
            contextlib.closing(Api(host.url, "v1")) as api,
            _administrator(chosen) as bare,
        ):
            vim = api.register_vim(bare.vim, default=True)
            environment = dataclasses.replace(bare, vim=vim)
            alone = _measure_library(chosen, environment)
            say(f"the small workload alone: {alone:.2f} s")
            for driver, name in DRIVERS.items():
                host.reload(dataclasses.replace(usual, drivers=(name,)))
                found += _measure_driver(
                    host, environment, driver, folder, arguments
                )
    finally:
        host.down()
    own = {f"{api} small: instantiate": alone for api in ("v1", "v2")}
    return rows.compare_drivers(found, own)


def _measure_driver(
    host: Host,
    environment: TackerBenchEnvironment,
    driver: str,
    folder: pathlib.Path,
    arguments: argparse.Namespace,
) -> list[Measurement]:
    rounds = arguments.rounds
    if driver == rows.THEIRS:
        rounds = arguments.theirs
    found = []
    for version in ("v2", "v1"):
        api = Api(host.url, version, pause=lifecycles.PAUSE)
        with contextlib.closing(api):
            for life_cycle in life_cycles(folder, arguments.objects):
                api.upload(life_cycle.csar.path)
                say(f"{driver}, {version}, {life_cycle.name}")
                measured = lifecycles.measure_operations(
                    environment, api, driver, life_cycle, rounds
                )
                for one in measured:
                    say(f"  {one}")
                found += measured
    return found


def life_cycles(folder: pathlib.Path, objs: int) -> Iterator[LifeCycle]:
    small = {
        "settings.yaml": [packages.config_map("settings", a="1")],
        "web.yaml": [packages.deployment("web")],
    }
    yield LifeCycle(
        "small",
        packages.build(folder, small, [packages.Vdu(VDU, "web")]),
        {"scale": rest_api.scaling(VDU, 1), "heal": rest_api.healing()},
    )
    many = [
        packages.config_map(f"c{number:04}", text="x" * 1024)
        for number in range(objs)
    ]
    # Tacker's own driver carries out no package without a VDU.
    large = {"many.yaml": many, "web.yaml": [packages.deployment("web")]}
    yield LifeCycle(
        f"{objs} ConfigMaps",
        packages.build(folder, large, [packages.Vdu(VDU, "web")]),
        {},
    )


@contextlib.contextmanager
def _administrator(chosen: Target) -> Iterator[TackerBenchEnvironment]:
    """A ServiceAccount that may do everything, for the time of the bench."""
    kubectl = target.kubectl(chosen)
    name = f"bench-tacker-{os.getpid()}"
    with service_accounts.create_administrator(kubectl, name) as found:
        vim = Vim(found.server, found.ca, {"bearer_token": found.token})
        yield TackerBenchEnvironment(kubectl, vim, name)


def _measure_library(
    chosen: Target, environment: TackerBenchEnvironment
) -> float:
    """The condition for the small workload to be ready, by any driver."""
    cluster = k8s_cr.connect(kubeconfig=str(chosen.kubeconfig))
    manifest = packages.deployment("web")
    try:
        with environment.namespace() as namespace:
            manifest["metadata"]["namespace"] = namespace
            ref = ObjectRef.of(manifest)
            start = time.monotonic()
            cluster.apply(manifest, "bench")
            limit = start + 60
            while time.monotonic() < limit:
                obj = cluster.get(ref) or {}
                if obj.get("status", {}).get("readyReplicas"):
                    return time.monotonic() - start
                time.sleep(lifecycles.PAUSE)
    finally:
        cluster.close()
    raise PlaneError("the cluster does not start the pod of a Deployment")


def _write(arguments: argparse.Namespace, found: list[rows.Row]) -> None:
    now = datetime.datetime.now(datetime.timezone.utc)
    content = {
        "date": now.isoformat(timespec="seconds"),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "rounds": arguments.rounds,
        "rows": [
            {
                **dataclasses.asdict(row),
                "ratio": row.ratio,
                "beyond": row.above_idle_driver,
                "met": row.is_met,
            }
            for row in found
        ],
    }
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(content, indent=1) + "\n")
    say(f"\nthe numbers are in {arguments.output}")


if __name__ == "__main__":
    raise SystemExit(main())
