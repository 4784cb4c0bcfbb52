"""The soak's command line: ``python -m tools.soak``, or ``make soak``."""

from __future__ import annotations

import argparse
import functools
import json
import os
import pathlib
import random
import shutil
import sys
import time

from tacker_k8s_cr.model.errors import Error
from tools.plane import signals
from tools.plane.errors import PlaneError
from tools.soak import observation
from tools.soak import schedule
from tools.soak import soak_environment
from tools.soak import summary
from tools.soak.fault_injection import Disturbance
from tools.soak.instance_pool import InstancePool
from tools.soak.loop import Plan
from tools.soak.loop import Soak
from tools.soak.soak_environment import Server
from tools.soak.soak_environment import SoakEnvironment
from tools.soak.summary import Figures
from tools.soak.summary import Violation
from tools.soak.worker import Worker

# Lines appear as they come, into a pipe or a file too.
say = functools.partial(print, flush=True)


def main() -> int:
    arguments = _parser().parse_args()
    seed = arguments.seed
    if seed is None:
        seed = random.SystemRandom().randrange(2**31)
    plan = Plan(seed, arguments.minutes * 60, arguments.processes)
    say(f"seed {seed}")
    try:
        with (
            signals.raise_interrupts(),
            soak_environment.start_server(os.environ, say) as server,
            soak_environment.prepare(
                server.direct, arguments.instances
            ) as environment,
        ):
            found = _run_soak(plan, server, environment)
    except (Error, PlaneError) as error:
        print(f"soak: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        print(f"soak: ended by {interrupt or 'SIGINT'}", file=sys.stderr)
        return 130
    _write(arguments.output, plan, arguments.instances, found)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    say("\n" + "\n".join(summary.format_table(found, width)))
    for violation in found.violations:
        say(f"seed {seed}: {violation}")
    return 1 if found.violations else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.soak",
        description="Carry out random operations on many instances, with "
        "random kills and faults, and check invariants after each. It runs on "
        "a plane of its own, or on the cluster that KUBECONFIG names, without "
        "faults of answers there. The exit code is 1 if an invariant did not "
        "hold.",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=60.0,
        help="duration, before all is terminated (default: 60)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        help="seed of the operations, kills and faults (default: random)",
    )
    parser.add_argument(
        "--instances",
        type=int,
        default=20,
        help="number of instances (default: 20)",
    )
    parser.add_argument(
        "--processes",
        type=int,
        default=3,
        help="number of worker processes (default: 3)",
    )
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("build/soak.json"),
        help="file for the figures and violations (default: build/soak.json)",
    )
    return parser


def _run_soak(
    plan: Plan, server: Server, environment: SoakEnvironment
) -> Figures:
    begin = time.monotonic()
    soak = Soak(
        plan,
        InstancePool(plan.seed, environment.instances, environment.others),
        functools.partial(Worker, server.faulty, server.direct),
        Disturbance(server.network, schedule.faults(plan.seed, server.faults)),
        lambda: time.monotonic() - begin,
        say,
    )
    found = soak.run()
    found.affected_requests = server.network.affected_requests
    if evidence := _check_leftovers(environment):
        last = Violation(found.steps, "all", "all", "the end", evidence)
        found.violations.append(last)
    return found


def _check_leftovers(environment: SoakEnvironment) -> tuple[str, ...]:
    """Return what is left, and what of other managers was changed."""
    left = [f"{ref} is left" for ref in environment.find_leftovers()]
    for namespace, before in environment.others.items():
        now = observation.others(environment.cluster, namespace)
        left += [
            f"{ref} of another manager was changed or deleted"
            for ref, digest in before.items()
            if now.get(ref) != digest
        ]
    return tuple(left)


def _write(
    path: pathlib.Path, plan: Plan, instances: int, found: Figures
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {
        "seed": plan.seed,
        "minutes": plan.seconds / 60,
        "instances": instances,
        "processes": plan.processes,
        "cores": len(os.sched_getaffinity(0)),
    }
    text = json.dumps({**about, **found.as_dict()}, indent=1)
    path.write_text(text + "\n")
    say(f"\nthe figures are in {path}")


if __name__ == "__main__":
    sys.exit(main())
