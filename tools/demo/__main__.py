"""The demonstration's command line: ``python -m tools.demo``."""

from __future__ import annotations

import argparse
import base64
from collections.abc import Callable
import contextlib
import os
import pathlib
import secrets
import sys
import tempfile
import time

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tools import plane
from tools.csar import CsarError
from tools.demo import custom_resource
from tools.demo import host
from tools.demo.custom_resource import CustomResource
from tools.demo.output import CompletedStep
from tools.demo.output import DemoOutput
from tools.demo.steps import DemoEnvironment
from tools.demo.steps import Unexpected
from tools.demo.workload_cluster import WorkloadCluster
from tools.leftovers import Snapshot
from tools.plane import PlaneError
from tools.plane import signals
from tools.plane import target
from tools.plane.target import Target
from tools.receiver import Receiver

Scenario = WorkloadCluster | CustomResource


class DemoRun:
    """The steps so far, and the means to take the next."""

    def __init__(self, show: DemoOutput):
        self.show = show
        self.done: list[CompletedStep] = []
        self.sent: Callable[[], int] = lambda: 0

    def step(self, title: str, act: Callable[[], str]) -> None:
        self.show.step(title)
        start = time.monotonic()
        before = self.sent()
        result = act()
        step = CompletedStep(
            title, time.monotonic() - start, self.sent() - before
        )
        self.done.append(step)
        self.show.done(result, step)


def main() -> int:
    arguments = _parser().parse_args()
    show = DemoOutput(sys.stdout)
    run = DemoRun(show)
    try:
        with signals.raise_interrupts(), contextlib.ExitStack() as stack:
            try:
                _run_demo(run, stack, arguments.shared)
            except BaseException:
                show.print_line("stopped here; cleaning up")
                raise
    except (Unexpected, errors.Error, PlaneError, CsarError) as error:
        show.failed(_why(error))
        return 1
    except KeyboardInterrupt as interrupt:
        show.failed(_why(interrupt))
        return 130
    show.table(run.done)
    return 0


def _why(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return f"ended by {error or 'SIGINT'}"
    return f"not as expected: {error}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.demo",
        description="A Cluster API cluster through its whole life, on the "
        "cluster that KUBECONFIG names, else on the local control plane.",
    )
    parser.add_argument(
        "--shared",
        action="store_true",
        help="other clients use the local control plane too: check for "
        "leftovers in the demo's namespace only, as with KUBECONFIG",
    )
    return parser


def _run_demo(run: DemoRun, stack: contextlib.ExitStack, shared: bool) -> None:
    """All of the story; what was begun ends with the stack."""
    show = run.show
    folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
    chosen = target.choose(os.environ)
    clusters: list[Cluster] = []
    run.step(
        "Bring up the control plane",
        lambda: _plane(chosen, stack, show, clusters),
    )
    (cluster,) = clusters
    unavailable = target.find_missing_features(chosen).get("capi", "")
    if unavailable:
        show.print_line(unavailable)
        for what in custom_resource.SKIPPED:
            show.print_line(f"so this is skipped: {what}")
    receiver = Receiver(folder, _secret())
    if not unavailable:
        run.step(
            "Open the webhook receiver",
            lambda: stack.enter_context(receiver).url,
        )
    run.step("Find the driver by stevedore", host.find_driver)
    environment = DemoEnvironment(
        cluster, show, folder, chosen.is_local and not shared
    )
    scenario: Scenario = (
        CustomResource(environment)
        if unavailable
        else WorkloadCluster(environment, receiver)
    )
    stack.callback(scenario.close)
    run.sent = lambda: cluster.requests + scenario.requests
    run_scenario(run, stack, environment, scenario)


def run_scenario(
    run: DemoRun,
    stack: contextlib.ExitStack,
    environment: DemoEnvironment,
    scenario: Scenario,
) -> None:
    """The steps of a story, between two listings of all objects."""
    snapshots: list[Snapshot] = []

    def note() -> str:
        snapshots.append(stack.enter_context(environment.create_namespace()))
        (before,) = snapshots
        return f"{len(before.objects)} objects of {before.kinds} kinds"

    def compare() -> str:
        remaining = environment.find_leftovers(snapshots[0])
        if remaining:
            named = ", ".join(map(str, remaining[:20]))
            more = (
                f" and {len(remaining) - 20} more"
                if len(remaining) > 20
                else ""
            )
            raise Unexpected(f"left behind: {named}{more}")
        if environment.is_exclusive:
            return "nothing, except Events and components' Leases"
        return (
            f"nothing in {environment.namespace} nor of what the instance "
            "had; "
            "other new objects belong to other clients"
        )

    run.step("List the existing objects", note)
    for step in scenario.steps:
        run.step(step.title, step.act)
    run.step("Compare with the objects that remain", compare)


def _plane(
    chosen: Target,
    stack: contextlib.ExitStack,
    show: DemoOutput,
    clusters: list[Cluster],
) -> str:
    if chosen.can_start and plane.ensure(show.print_line):
        stack.callback(plane.down, show.print_line)
    cluster = k8s_cr.connect(str(chosen.kubeconfig))
    stack.callback(cluster.close)
    clusters.append(cluster)
    whose = "the local one" if chosen.is_local else "of KUBECONFIG"
    return f"{cluster.server}, Kubernetes {cluster.version()}, {whose}"


def _secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


if __name__ == "__main__":
    sys.exit(main())
