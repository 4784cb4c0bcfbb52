"""Instances go through their lives while a fault is there.

Each is instantiated, changed and terminated. After each operation the
cluster is held against what it should have.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import concurrent.futures
import contextlib
import dataclasses
import time
import uuid

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Clock
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.wait.progress import WaitState
from tests.faults import killable_process
from tests.faults import result_table
from tests.faults import scenario as stories
from tests.functional import manifests

WIDGETS = GroupKind("demo.example.org", "Widget")
OPERATIONS = ("instantiate", "change", "terminate")

SECONDS = 180.0
"""For an operation, with its fault."""

RECOVERS = 120.0
"""For the next one, without it."""

Listen = Callable[[str, WaitState], None]


@dataclasses.dataclass(frozen=True)
class FaultyConnection:
    """The way on which the fault is, and who hears how far it came.

    :param listen: called with the operation and each progress.
    :param clock: by which its deadline is.
    """

    cluster: Cluster
    listen: Listen = lambda operation, progress: None
    clock: Clock = time.monotonic


Disturb = Callable[[str], contextlib.AbstractContextManager[FaultyConnection]]
"""The fault, for as long as an operation of this name lasts."""


@dataclasses.dataclass(frozen=True)
class InstanceLifecycle:
    """One instance: a definition, its resources, workloads, a Widget."""

    name: str
    namespace: str
    told: stories.Scenario

    def expected_manifests(self, operation: str) -> Sequence[Manifest]:
        """What is to be there after it."""
        return {
            "instantiate": self.told.old,
            "change": self.told.new,
        }.get(operation, ())

    def run(
        self,
        operation: str,
        cluster: Cluster,
        seconds: float,
        listen: Listen = lambda operation, progress: None,
        clock: Clock = time.monotonic,
    ) -> None:
        given = self.expected_manifests(operation)
        package = (
            [killable_process.make_package(tuple(given))] if given else []
        )
        request = lcm.Request(
            cluster,
            self.name,
            namespace=self.namespace,
            deadline=Deadline.after(seconds, clock),
            on_progress=lambda progress: listen(operation, progress),
        )
        getattr(lcm, operation)(request, *package)


Alter = Callable[[Manifest], Manifest]


def _unchanged(manifest: Manifest) -> Manifest:
    return manifest


def new_lifecycle(
    namespace: str, size: str, alter: Alter = _unchanged
) -> InstanceLifecycle:
    """A new instance.

    :param size: of its Widget; a slow one is waited for ten seconds.
    :param alter: what becomes of each manifest.
    """
    name = f"f{uuid.uuid4().hex[:8]}"
    told = stories.mixed_package(name)
    # Each change of its size is waited for.
    sizes = {"1": size, "2": "small" if size == "slow" else "other"}
    old, new = (
        manifests.custom(
            "demo.example.org", "Widget", "w", {"version": version}, size=each
        )
        for version, each in sizes.items()
    )
    return InstanceLifecycle(
        name,
        namespace,
        stories.Scenario(
            tuple(map(alter, (*told.old, old))),
            tuple(map(alter, (*told.new, new))),
            (*told.kinds, WIDGETS),
        ),
    )


@dataclasses.dataclass
class Outcome:
    """The row of a case, and the errors of operations that failed."""

    case: str
    tried: int = 0
    finished: int = 0
    recovered: int = 0
    lost: list[str] = dataclasses.field(default_factory=list)
    orphaned: list[str] = dataclasses.field(default_factory=list)
    said: list[str] = dataclasses.field(default_factory=list)
    requests: int = 0
    seconds: float = 0.0

    @property
    def row(self) -> result_table.Row:
        return result_table.Row(
            self.case,
            self.tried,
            self.finished,
            self.recovered,
            len(self.lost),
            len(self.orphaned),
            self.requests,
            self.seconds,
        )

    @property
    def good(self) -> bool:
        """Every operation came to its end, if not at once, then next."""
        done = self.finished + self.recovered == self.tried
        return done and not self.lost and not self.orphaned


def run_lifecycles(
    case: str,
    straight: Cluster,
    namespaces: Iterable[str],
    disturb: Disturb,
    size: str = "small",
    alter: Alter = _unchanged,
) -> Outcome:
    """Lead an instance in each namespace through its life, in parallel.

    What ends with an error of the project is tried again when the fault is
    over; any other exception is raised.
    """
    begin = time.monotonic()
    all_ = [new_lifecycle(namespace, size, alter) for namespace in namespaces]
    outcome = Outcome(case)
    with concurrent.futures.ThreadPoolExecutor(len(all_)) as threads:
        for operation in OPERATIONS:
            with disturb(operation) as way:
                before = way.cluster.requests
                ended = list(
                    threads.map(
                        lambda life, o=operation, w=way: _run_operation(
                            life, o, w
                        ),
                        all_,
                    )
                )
                outcome.requests += way.cluster.requests - before
            failed = [
                (life, error)
                for life, error in zip(all_, ended, strict=True)
                if error
            ]
            outcome.tried += len(all_)
            outcome.finished += len(all_) - len(failed)
            for life, error in failed:
                outcome.said.append(f"{operation}: {error.sentence()}")
                # The lock of one that ended was given back, or runs out.
                repeat_operation(life, operation, straight)
                outcome.recovered += 1
            for life in all_:
                compare_with_cluster(outcome, life, operation, straight)
    outcome.requests //= max(1, outcome.tried)
    outcome.seconds = time.monotonic() - begin
    return outcome


def compare_with_cluster(
    outcome: Outcome, life: InstanceLifecycle, operation: str, cluster: Cluster
) -> None:
    """Hold what is there against what should be after the operation."""
    lost, orphaned = stories.compare(
        cluster.with_deadline(Deadline.after(RECOVERS)),
        life.name,
        life.namespace,
        life.told,
        life.expected_manifests(operation),
    )
    outcome.lost += lost
    outcome.orphaned += orphaned


def _run_operation(
    life: InstanceLifecycle, operation: str, way: FaultyConnection
) -> errors.Error | None:
    try:
        life.run(operation, way.cluster, SECONDS, way.listen, way.clock)
    except errors.Error as error:
        return error
    return None


def repeat_operation(
    life: InstanceLifecycle, operation: str, cluster: Cluster
) -> None:
    """The same operation, undisturbed; there may be nothing left to do."""
    done = {
        "instantiate": errors.InstanceExists,
        "terminate": errors.InstanceNotFound,
    }.get(operation, ())
    with contextlib.suppress(done):
        life.run(operation, cluster, RECOVERS)
