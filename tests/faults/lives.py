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

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Clock
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.progress import Progress
from tests.faults import dying
from tests.faults import figures
from tests.faults import story as stories
from tests.functional import manifests

WIDGETS = GroupKind("demo.example.org", "Widget")
OPERATIONS = ("instantiate", "change", "terminate")

SECONDS = 180.0
"""For an operation, with its fault."""

RECOVERS = 120.0
"""For the next one, without it."""

Listen = Callable[[str, Progress], None]


@dataclasses.dataclass(frozen=True)
class Disturbed:
    """The way on which the fault is, and who hears how far it came.

    :param listen: called with the operation and each progress.
    :param clock: by which its deadline is.
    """

    cluster: Cluster
    listen: Listen = lambda operation, progress: None
    clock: Clock = time.monotonic


Disturb = Callable[[str], contextlib.AbstractContextManager[Disturbed]]
"""The fault, for as long as an operation of this name lasts."""


@dataclasses.dataclass(frozen=True)
class Life:
    """One instance: a definition, its resources, workloads, a Widget."""

    name: str
    namespace: str
    told: stories.Story

    def wanted(self, operation: str) -> Sequence[Manifest]:
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
        given = self.wanted(operation)
        package = [dying.package(tuple(given))] if given else []
        getattr(lcm, operation)(
            cluster,
            self.name,
            *package,
            namespace=self.namespace,
            deadline=Deadline.after(seconds, clock),
            listen=lambda progress: listen(operation, progress),
        )


Alter = Callable[[Manifest], Manifest]


def _as_it_is(manifest: Manifest) -> Manifest:
    return manifest


def begun(namespace: str, size: str, alter: Alter = _as_it_is) -> Life:
    """A new instance.

    :param size: of its Widget; a slow one is waited for ten seconds.
    :param alter: what becomes of each manifest.
    """
    name = f"f{uuid.uuid4().hex[:8]}"
    told = stories.story(name)
    # Each change of its size is waited for.
    sizes = {"1": size, "2": "small" if size == "slow" else "other"}
    old, new = (
        manifests.custom(
            "demo.example.org", "Widget", "w", {"version": version}, size=each
        )
        for version, each in sizes.items()
    )
    return Life(
        name,
        namespace,
        stories.Story(
            tuple(map(alter, (*told.old, old))),
            tuple(map(alter, (*told.new, new))),
            (*told.kinds, WIDGETS),
        ),
    )


@dataclasses.dataclass
class Outcome:
    """The row of a case, and what was said by operations that ended."""

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
    def row(self) -> figures.Row:
        return figures.Row(
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


def led(
    case: str,
    straight: Cluster,
    namespaces: Iterable[str],
    disturb: Disturb,
    size: str = "small",
    alter: Alter = _as_it_is,
) -> Outcome:
    """Lead an instance in each namespace through its life, all at once.

    What ends with an error of ours is tried again when the fault is no
    more; any other exception is raised.
    """
    begin = time.monotonic()
    all_ = [begun(namespace, size, alter) for namespace in namespaces]
    outcome = Outcome(case)
    with concurrent.futures.ThreadPoolExecutor(len(all_)) as threads:
        for operation in OPERATIONS:
            with disturb(operation) as way:
                before = way.cluster.requests
                ended = list(
                    threads.map(
                        lambda life, o=operation, w=way: _ended(life, o, w),
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
                again(life, operation, straight)
                outcome.recovered += 1
            for life in all_:
                compare(outcome, life, operation, straight)
    outcome.requests //= max(1, outcome.tried)
    outcome.seconds = time.monotonic() - begin
    return outcome


def compare(
    outcome: Outcome, life: Life, operation: str, cluster: Cluster
) -> None:
    """Hold what is there against what should be after the operation."""
    lost, orphaned = stories.differences(
        cluster.until(Deadline.after(RECOVERS)),
        life.name,
        life.namespace,
        life.told,
        life.wanted(operation),
    )
    outcome.lost += lost
    outcome.orphaned += orphaned


def _ended(life: Life, operation: str, way: Disturbed) -> errors.Error | None:
    try:
        life.run(operation, way.cluster, SECONDS, way.listen, way.clock)
    except errors.Error as error:
        return error
    return None


def again(life: Life, operation: str, cluster: Cluster) -> None:
    """The same operation, undisturbed; there may be nothing left to do."""
    done = {
        "instantiate": errors.InstanceExists,
        "terminate": errors.InstanceUnknown,
    }.get(operation, ())
    with contextlib.suppress(done):
        life.run(operation, cluster, RECOVERS)
