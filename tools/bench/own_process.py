"""Ours in a process of its own: ``python -m tools.bench.own_process``.

So that its memory, its sockets and its threads are those of the operation
and not of the bench. It prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import time
from typing import Any

from tools.bench import concurrent_operations
from tools.bench import processes
from tools.bench import workload
from tools.bench.own_operations import OwnOperations
from tools.plane.errors import PlaneError

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(what: str, kubeconfig: pathlib.Path, **arguments: Any) -> Any:
    """What such a process found out."""
    command = [sys.executable, "-m", "tools.bench.own_process", what]
    command.append(f"--kubeconfig={kubeconfig}")
    command += [f"--{name}={value}" for name, value in arguments.items()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise PlaneError(f"{what}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.own_process")
    parser.add_argument("what", choices=("apply", "terminate", "crowd"))
    parser.add_argument("--kubeconfig", type=pathlib.Path, required=True)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--objects", type=int, required=True)
    parser.add_argument("--operations", type=int, default=1)
    given = parser.parse_args()
    if given.what == "crowd":
        found = concurrent_operations.measure(
            given.kubeconfig, given.namespace, given.operations, given.objects
        )
    else:
        found = _one(given)
    print(json.dumps({**found, "peak": processes.peak_memory()}))
    return 0


def _one(given: argparse.Namespace) -> dict[str, float]:
    terminates = given.what == "terminate"
    manifests = workload.config_maps(0 if terminates else given.objects)
    ours = OwnOperations(
        given.kubeconfig, workload.package(manifests), dry_run=False
    )
    act = ours.delete if terminates else ours.apply
    begin = time.process_time()
    seconds = act(given.namespace)
    return {
        "seconds": seconds,
        "processor": time.process_time() - begin,
        "requests": ours.requests[-1],
    }


if __name__ == "__main__":
    raise SystemExit(main())
