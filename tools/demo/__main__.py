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
from tools.demo.output import Done
from tools.demo.output import Show
from tools.demo.steps import DemoEnvironment
from tools.demo.steps import Unexpected
from tools.demo.workload_cluster import WorkloadCluster
from tools.leftovers import Snapshot
from tools.plane import PlaneError
from tools.plane import signals
from tools.plane import target
from tools.plane.target import Target
from tools.receiver import Receiver

Story = WorkloadCluster | CustomResource


class Stage:
    """The steps so far, and the means to take the next."""

    def __init__(self, show: Show):
        self.show = show
        self.done: list[Done] = []
        self.sent: Callable[[], int] = lambda: 0

    def step(self, title: str, act: Callable[[], str]) -> None:
        self.show.step(title)
        begun = time.monotonic()
        before = self.sent()
        said = act()
        step = Done(title, time.monotonic() - begun, self.sent() - before)
        self.done.append(step)
        self.show.done(said, step)


def main() -> int:
    arguments = _parser().parse_args()
    show = Show(sys.stdout)
    stage = Stage(show)
    try:
        with signals.raised(), contextlib.ExitStack() as stack:
            try:
                _tell(stage, stack, arguments.shared)
            except BaseException:
                show.say("stopped here; cleaning up")
                raise
    except (Unexpected, errors.Error, PlaneError, CsarError) as error:
        show.failed(_why(error))
        return 1
    except KeyboardInterrupt as interrupt:
        show.failed(_why(interrupt))
        return 130
    show.table(stage.done)
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


def _tell(stage: Stage, stack: contextlib.ExitStack, shared: bool) -> None:
    """All of the story; what was begun ends with the stack."""
    show = stage.show
    folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
    chosen = target.choose(os.environ)
    clusters: list[Cluster] = []
    stage.step(
        "Bring up the control plane",
        lambda: _plane(chosen, stack, show, clusters),
    )
    (cluster,) = clusters
    unavailable = target.missing(chosen).get("capi", "")
    if unavailable:
        show.say(unavailable)
        for what in custom_resource.SKIPPED:
            show.say(f"so this is skipped: {what}")
    receiver = Receiver(folder, _secret())
    if not unavailable:
        stage.step(
            "Open the webhook receiver",
            lambda: stack.enter_context(receiver).url,
        )
    stage.step("Find the driver by stevedore", host.found)
    scene = DemoEnvironment(cluster, show, folder, chosen.ours and not shared)
    story: Story = (
        CustomResource(scene)
        if unavailable
        else WorkloadCluster(scene, receiver)
    )
    stack.callback(story.close)
    stage.sent = lambda: cluster.requests + story.requests
    played(stage, stack, scene, story)


def played(
    stage: Stage,
    stack: contextlib.ExitStack,
    scene: DemoEnvironment,
    story: Story,
) -> None:
    """The steps of a story, between two listings of all objects."""
    noted: list[Snapshot] = []

    def note() -> str:
        noted.append(stack.enter_context(scene.held()))
        (before,) = noted
        return f"{len(before.objects)} objects of {before.kinds} kinds"

    def compare() -> str:
        left = scene.left(noted[0])
        if left:
            named = ", ".join(map(str, left[:20]))
            more = f" and {len(left) - 20} more" if len(left) > 20 else ""
            raise Unexpected(f"left behind: {named}{more}")
        if scene.alone:
            return "nothing, except Events and components' Leases"
        return (
            f"nothing in {scene.namespace} nor of what the instance had; "
            "other new objects belong to other clients"
        )

    stage.step("List the existing objects", note)
    for step in story.steps:
        stage.step(step.title, step.act)
    stage.step("Compare with the objects that remain", compare)


def _plane(
    chosen: Target,
    stack: contextlib.ExitStack,
    show: Show,
    clusters: list[Cluster],
) -> str:
    if chosen.startable and plane.ensure(show.say):
        stack.callback(plane.down, show.say)
    cluster = k8s_cr.connect(str(chosen.kubeconfig))
    stack.callback(cluster.close)
    clusters.append(cluster)
    whose = "the local one" if chosen.ours else "of KUBECONFIG"
    return f"{cluster.server}, Kubernetes {cluster.version()}, {whose}"


def _secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


if __name__ == "__main__":
    sys.exit(main())
