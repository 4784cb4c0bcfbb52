"""The processes that carry out operations, and may be killed."""

from __future__ import annotations

import dataclasses
import multiprocessing
from multiprocessing.connection import Connection
import resource
import signal
import time
import traceback
from typing import Any

from tacker_k8s_cr import kube as clusters
from tacker_k8s_cr.kube import server  # noqa: F401  before the fork
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tools.soak import invariants
from tools.soak import observation
from tools.soak import packages
from tools.soak.invariants import Check
from tools.soak.model import Instance
from tools.soak.model import RecordedState
from tools.soak.model import Request
from tools.soak.outcomes import KILLED
from tools.soak.outcomes import Outcome

BEGUN = "begun"
POLL_INTERVAL = 0.2
"""Seconds between two looks where there is patience."""
CHECK_TIMEOUT = 60.0
"""Seconds for a look, on a server without faults."""

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__, "kubernetes.client.rest"])


@dataclasses.dataclass(frozen=True)
class Task:
    """A request to carry out on an instance, as the worker receives it."""

    instance: Instance
    request: Request


@dataclasses.dataclass(frozen=True)
class CheckResult:
    """The result of an observation."""

    state: RecordedState
    violations: tuple[str, ...]


class Worker:
    """A process that carries out one task after another.

    :param faulty: the way on which there are faults.
    :param direct: the way of looks.
    """

    def __init__(self, faulty: Kubeconfig, direct: Kubeconfig):
        self.pipe, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(
            target=_serve, args=(theirs, faulty, direct), daemon=True
        )
        self._process.start()
        # Else the end of the process would not end the pipe.
        theirs.close()

    def send(self, task: Task | Check) -> None:
        self.pipe.send(task)

    def receive(self) -> Any:
        """Return what the process has sent; ``killed`` if it has ended."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            return Outcome(KILLED)

    def kill(self) -> None:
        """Send SIGKILL; the process may have ended before."""
        self._process.kill()

    def close(self) -> None:
        """End the process."""
        self.kill()
        self._process.join()
        self.pipe.close()


def _serve(pipe: Connection, faulty: Kubeconfig, direct: Kubeconfig) -> None:
    # The controlling process decides what an interrupt ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    clusters_ = clusters.connect(faulty), clusters.connect(direct)
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        if isinstance(task, Task):
            pipe.send(BEGUN)
            pipe.send(_carry_out(clusters_[0], task))
        else:
            pipe.send(_check(clusters_[1], task))


def _check(cluster: Cluster, check: Check) -> CheckResult | Outcome:
    instance = check.expected
    try:
        brief = cluster.with_deadline(Deadline.after(CHECK_TIMEOUT))
        # A definition of the instance may have come or gone.
        brief.invalidate(f"{instance.name}.example.org")
        end = time.monotonic() + check.patience
        while True:
            observed = observation.observe(brief, instance)
            found = tuple(invariants.find_violations(check, observed))
            if not found or time.monotonic() >= end:
                return CheckResult(observed.state, found)
            time.sleep(POLL_INTERVAL)
    except errors.Error as error:
        return Outcome(type(error).__name__, error.sentence())


def _carry_out(cluster: Cluster, task: Task) -> Outcome:
    begin = time.monotonic()
    error = ("", "", False)
    remarks: tuple[str, ...] = ()
    try:
        remarks = _call_operation(cluster, task)
    except errors.Error as caught:
        error = (
            type(caught).__name__,
            caught.sentence(),
            caught.deadline_passed,
        )
    except Exception as caught:  # noqa: BLE001  it is a finding
        # Its text may hold anything, a credential too.
        frame = traceback.extract_tb(caught.__traceback__)[-1]
        where = f"{frame.filename}:{frame.lineno}"
        error = type(caught).__name__, f"raised in {where}", False
    seconds = time.monotonic() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return Outcome(error[0], error[1], seconds, error[2], remarks, memory)


def _call_operation(cluster: Cluster, task: Task) -> tuple[str, ...]:
    instance, request = task.instance, task.request
    more: dict[str, Any] = {}
    given: tuple[Any, ...] = ()
    if request.operation in ("instantiate", "change", "forecast"):
        given = (
            packages.package(instance.form, request.version, instance.name),
        )
    elif request.operation == "scale":
        kind, _, name = request.target.partition("/")
        ref = ObjectRef("apps", kind, instance.namespace, name)
        more["targets"] = {ref: request.number}
    wanted = lcm.Request(
        cluster,
        instance.name,
        deadline=Deadline.after(request.seconds),
        namespace=instance.namespace,
    )
    report = getattr(lcm, request.operation)(wanted, *given, **more)
    if request.operation == "drift":
        return tuple(f"drift: {row.ref}" for row in report.objects)
    if request.operation == "status":
        return tuple(
            f"status: {row.ref} is {row.verdict.state.value}"
            for row in report.objects
            if row.verdict.state.value != "current"
        )
    return ()
