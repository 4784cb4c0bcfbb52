"""Instances that are each at another stage when a server gets a fault.

An instance is led to its operation, and held at one of the operation's
stages until all others have come to theirs. Then the fault comes, and all
of them go on.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import concurrent.futures
import contextlib
import dataclasses
import threading
import time
import uuid

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.wait.progress import WaitState
from tests.faults import independent_readiness
from tests.faults import killable_process
from tests.faults import lifecycles
from tests.faults import result_table
from tests.faults import scenario as stories
from tests.faults.three_api_servers import Fault
from tests.faults.three_api_servers import Servers
from tests.faults.three_api_servers import broken_server
from tests.functional import manifests

OPERATIONS = ("instantiate", "change", "scale", "heal", "terminate")
"""In the order of a life."""

REPLICAS = 3
SECONDS = 420.0
"""For an operation with the fault there: a request that a server leaves
without an answer is given up after 65 seconds."""
AGAIN = 180.0
"""For the same operation when the server is healthy again."""
ARRIVES = 240.0
"""For all instances to come to their stages."""

BEGIN = "begin"
"""The stage before anything is sent."""


@dataclasses.dataclass(frozen=True)
class Moment:
    """A stage of an operation, as its progress names it."""

    operation: str
    stage: str

    def __str__(self) -> str:
        return f"{self.operation} at {self.stage}"


def stage_of(progress: WaitState) -> str:
    waits = ", waiting" if progress.unsettled else ""
    return f"{progress.goal.value} {progress.stage}{waits}"


@dataclasses.dataclass
class Outcome:
    """The outcome of one operation, and how the true state differs."""

    moment: Moment
    error: errors.Error | None = None
    wrong: list[str] = dataclasses.field(default_factory=list)
    lost: list[str] = dataclasses.field(default_factory=list)
    orphaned: list[str] = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    again: str = ""
    late: list[str] = dataclasses.field(default_factory=list)
    """Pieces of the record that no head names: writes that a server had not
    answered, and carried out afterwards. The next operation deletes them."""
    came: bool = True
    """Whether the operation was at its moment when the fault began. An
    object that is current at the first look leaves out the wait for it."""

    @property
    def good(self) -> bool:
        return not (self.wrong or self.lost or self.orphaned or self.again)

    def __str__(self) -> str:
        said = self.error.sentence() if self.error else "succeeded"
        return (
            f"{self.moment}: {said} ({self.seconds:.0f} s); wrong "
            f"{self.wrong}, lost {self.lost}, orphaned {self.orphaned}, "
            f"late {self.late}"
            f"{', then ' + self.again if self.again else ''}"
            f"{'' if self.came else '; before the fault'}"
        )


# -- One instance -------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Instance:
    """An instance in a namespace of its own."""

    life: lifecycles.InstanceLifecycle

    @classmethod
    def made(cls, cluster: Cluster) -> Instance:
        name = f"s{uuid.uuid4().hex[:8]}"
        cluster.create(manifests.namespace(name), "tests")
        return cls(lifecycles.new_lifecycle(name, "small"))

    def run(
        self,
        operation: str,
        cluster: Cluster,
        seconds: float,
        listen: Callable[[WaitState], None] = lambda progress: None,
    ) -> None:
        given: list[object] = []
        if operation == "scale":
            given = [{self._ref("apps", "Deployment", "web"): REPLICAS}]
        elif wanted := self.life.expected_manifests(operation):
            given = [killable_process.make_package(tuple(wanted))]
        request = lcm.Request(
            cluster,
            self.life.name,
            namespace=self.life.namespace,
            deadline=Deadline.after(seconds),
            on_progress=listen,
        )
        getattr(lcm, operation)(request, *given)

    def before(self, operation: str) -> Sequence[str]:
        """The operations that come before it in a life."""
        return OPERATIONS[: OPERATIONS.index(operation)]

    def after(self, operation: str) -> Sequence[stories.Manifests]:
        """The manifests that are there after it, or may be."""
        old, new = self.life.told.old, self.life.told.new
        if operation == "instantiate":
            return (old,)
        if operation == "terminate":
            return ((),)
        if operation == "change":
            return (new,)
        scaled = []
        for manifest in new:
            if manifest["kind"] == "Deployment":
                spec = {**manifest["spec"], "replicas": REPLICAS}
                manifest = {**manifest, "spec": spec}
            scaled.append(manifest)
        return (tuple(scaled),)

    def refs(self, operation: str) -> list[ObjectRef]:
        """The objects that must be current after it, or deleted."""
        given = self.life.told.new
        if operation == "instantiate":
            given = self.life.told.old
        return [self._placed(ObjectRef.of(manifest)) for manifest in given]

    def wrong_states(self, operation: str, cluster: Cluster) -> list[str]:
        """Contradictions to its success found on a healthy server."""
        refs = self.refs(operation)
        if operation == "terminate":
            return independent_readiness.find_existing(cluster, refs)
        return independent_readiness.reason_not_current(cluster, refs)

    def compare(self, outcome: Outcome, cluster: Cluster) -> None:
        (wanted,) = self.after(outcome.moment.operation)
        lost, orphaned = stories.compare(
            cluster.with_deadline(Deadline.after(AGAIN)),
            self.life.name,
            self.life.namespace,
            self.life.told,
            wanted,
        )
        outcome.lost += lost
        outcome.orphaned += orphaned

    def _ref(self, group: str, kind: str, name: str) -> ObjectRef:
        return ObjectRef(group, kind, self.life.namespace, name)

    def _placed(self, ref: ObjectRef) -> ObjectRef:
        if ref.group_kind == stories.DEFINITION:
            return ref
        return ref._replace(namespace=self.life.namespace)


def record_moments(cluster: Cluster) -> list[Moment]:
    """Every stage of every operation, in a life without a fault."""
    instance = Instance.made(cluster)
    found: dict[Moment, None] = {}
    for operation in OPERATIONS:
        found[Moment(operation, BEGIN)] = None

        def listen(progress: WaitState, operation: str = operation) -> None:
            found[Moment(operation, stage_of(progress))] = None

        instance.run(operation, cluster, AGAIN, listen)
    return list(found)


# -- All of them --------------------------------------------------------------


class FaultBarrier:
    """All wait for each other, then a fault comes and all go on."""

    def __init__(self, count: int, begin: Callable[[], None]):
        self._left = count
        self._begin = begin
        self._changed = threading.Condition()
        self._over = threading.Event()

    def arrive(self) -> None:
        """Wait for the others, if this is the first call of its kind."""
        self.leave()
        self._over.wait(ARRIVES)

    def leave(self) -> None:
        """Let the others not wait for this one."""
        with self._changed:
            self._left -= 1
            self._changed.notify_all()

    def wait(self) -> None:
        """Bring the fault when all have arrived."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: self._left <= 0, ARRIVES)
        # Requests go out while the fault begins, and not before it only.
        self._over.set()
        self._begin()
        assert arrived, f"{self._left} did not come to their stage"


def run_with_fault(
    servers: Servers, fault: Fault, chosen: Sequence[Moment]
) -> list[Outcome]:
    """Let a server have a fault when each instance is at its moment."""
    straight = servers.direct_cluster()
    with concurrent.futures.ThreadPoolExecutor(len(chosen)) as threads:
        instances = list(
            threads.map(lambda moment: _led(straight, moment), chosen)
        )
        with broken_server(servers, fault) as begin:
            meeting = FaultBarrier(len(chosen), begin)
            running = [
                threads.submit(_tried, servers, meeting, *pair)
                for pair in zip(instances, chosen, strict=True)
            ]
            meeting.wait()
            outcomes = [each.result() for each in running]
        # What a server had not carried out before may come now.
        pairs = list(zip(instances, outcomes, strict=True))
        list(threads.map(lambda pair: _finished(straight, *pair), pairs))
    straight.close()
    return outcomes


def _led(cluster: Cluster, moment: Moment) -> Instance:
    instance = Instance.made(cluster)
    for operation in instance.before(moment.operation):
        instance.run(operation, cluster, AGAIN)
    return instance


def _tried(
    servers: Servers, meeting: FaultBarrier, instance: Instance, moment: Moment
) -> Outcome:
    came = threading.Event()
    cluster = servers.balanced()
    straight = servers.direct_cluster()
    outcome = Outcome(moment)

    def listen(progress: WaitState) -> None:
        if stage_of(progress) == moment.stage and not came.is_set():
            came.set()
            meeting.arrive()

    # The connection is made before the fault.
    cluster.version()
    if moment.stage == BEGIN:
        came.set()
        meeting.arrive()
    begun = time.monotonic()
    try:
        instance.run(moment.operation, cluster, SECONDS, listen)
    except errors.Error as error:
        outcome.error = error
    else:
        outcome.wrong = instance.wrong_states(moment.operation, straight)
    finally:
        outcome.seconds = time.monotonic() - begun
        if not came.is_set():
            outcome.came = False
            meeting.leave()
        cluster.close()
        straight.close()
    return outcome


def _finished(straight: Cluster, instance: Instance, outcome: Outcome) -> None:
    """Finish what ended with an error; check it; remove all of it."""
    operation = outcome.moment.operation
    done = {
        "instantiate": errors.InstanceExists,
        "terminate": errors.InstanceNotFound,
    }.get(operation, ())
    try:
        if outcome.error:
            with contextlib.suppress(done):
                instance.run(operation, straight, AGAIN)
        instance.compare(outcome, straight)
        outcome.late = [
            r for r in outcome.orphaned if record_names.PREFIX in r
        ]
        if operation != "terminate" or outcome.late:
            outcome.orphaned = [
                ref for ref in outcome.orphaned if ref not in outcome.late
            ]
            instance.run("terminate", straight, AGAIN)
            left = Outcome(Moment("terminate", "end"))
            instance.compare(left, straight)
            outcome.orphaned += left.orphaned
        space = ObjectRef("", "Namespace", "", instance.life.namespace)
        obj = straight.get_metadata(space)
        if obj and outcome.good:
            straight.delete(space, obj["metadata"]["uid"])
    except errors.Error as error:
        outcome.again = error.sentence()


def result_rows(
    case: str, outcomes: Iterable[Outcome], begun: float
) -> list[result_table.Row]:
    """A row for each operation, of what was at its stage."""
    seconds = time.monotonic() - begun
    found = []
    for operation in OPERATIONS:
        some = [
            o for o in outcomes if o.moment.operation == operation and o.came
        ]
        ended = sum(o.error is None and not o.late for o in some)
        found.append(
            result_table.Row(
                f"{operation}, {case}",
                len(some),
                ended,
                sum(bool(o.error or o.late) and not o.again for o in some),
                sum(len(o.lost) + len(o.wrong) for o in some),
                sum(len(o.orphaned) for o in some),
                seconds=max((o.seconds for o in some), default=seconds),
            )
        )
    return found
