"""Operations in processes of their own, which may be killed.

They are forked off a process that has imported everything, so that one
begins within milliseconds, with no thread of another's.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import multiprocessing
import multiprocessing.connection
import resource
import threading
from typing import Any

from tacker_k8s_cr import kube as clusters
from tacker_k8s_cr.kube import server  # noqa: F401  for those forked off
from tacker_k8s_cr.kube.kubeconfig import for_server
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tests.calls import call
from tests.faults import api_gate

SECONDS = 300.0
"""For an operation, with the wait for the lock of one that died."""

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__, "kubernetes.client.rest"])
_STARTING = threading.Lock()


def make_package(manifests: Iterable[Mapping[str, Any]]) -> Package:
    return Package(
        "killed",
        tuple(
            Document(manifest, f"a.yaml, document {number}")
            for number, manifest in enumerate(manifests, 1)
        ),
    )


@dataclasses.dataclass(frozen=True)
class Task:
    """An operation of ``lcm``, as a process receives it.

    :param more: keywords of the operation.
    :param server: instead of that of the kubeconfig.
    :param seconds: that it has for all.
    """

    operation: str
    instance: str
    namespace: str
    package: Package | None = None
    more: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    server: str = ""
    seconds: float = SECONDS


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of an operation.

    :param error: the name of its error; ``killed`` if it could not tell.
    :param memory: MiB that its process had at most.
    """

    error: str = ""
    sentence: str = ""
    memory: int = 0

    @property
    def killed(self) -> bool:
        return self.error == KILLED


KILLED = "killed"


class OperationProcess:
    """A process that carries out a task; it runs from the beginning."""

    def __init__(self, task: Task, kubeconfig: str):
        self._ours, theirs = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(
            target=_run_task, args=(task, kubeconfig, theirs), daemon=True
        )
        with _STARTING:
            self._process.start()
        # Else its end would not be visible.
        theirs.close()
        self.pid = self._process.pid

    def wait_outcome(self) -> Outcome:
        """What came of it, when it has ended."""
        try:
            said = self._ours.recv()
        except EOFError:
            said = Outcome(KILLED)
        self._ours.close()
        with _STARTING:
            self._process.join(api_gate.DEATH)
        return said


def _run_task(
    task: Task, kubeconfig: str, told: multiprocessing.connection.Connection
) -> None:
    connected = clusters.connect(
        for_server(task.server) if task.server else kubeconfig
    )
    given = () if task.package is None else (task.package,)
    try:
        call(
            getattr(lcm, task.operation),
            connected,
            task.instance,
            *given,
            namespace=task.namespace,
            deadline=Deadline.after(task.seconds),
            **task.more,
        )
    except errors.Error as error:
        told.send(Outcome(type(error).__name__, error.sentence()))
    else:
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        told.send(Outcome(memory=used))
    finally:
        connected.close()
