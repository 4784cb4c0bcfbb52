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

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.progress import Progress
from tacker_k8s_cr.recording import record
from tests.faults import dying
from tests.faults import figures
from tests.faults import lives
from tests.faults import story as stories
from tests.faults import truth
from tests.faults.servers import Fault
from tests.faults.servers import Servers
from tests.faults.servers import broken
from tests.functional import manifests

OPERATIONS = ("instantiate", "change", "scale", "heal", "terminate")
"""In the order of a life."""

REPLICAS = 3
SECONDS = 420.0
"""For an operation with the fault there: a request that a server leaves
without an answer is given up after 65 seconds."""
AGAIN = 180.0
"""For the same operation when the server is mended."""
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


def stage_of(progress: Progress) -> str:
    waits = ", waiting" if progress.unsettled else ""
    return f"{progress.goal.value} {progress.stage}{waits}"


@dataclasses.dataclass
class Outcome:
    """What came of one operation, and what the truth says against it."""

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

    life: lives.Life

    @classmethod
    def made(cls, cluster: Cluster) -> Instance:
        name = f"s{uuid.uuid4().hex[:8]}"
        cluster.create(manifests.namespace(name), "tests")
        return cls(lives.begun(name, "small"))

    def run(
        self,
        operation: str,
        cluster: Cluster,
        seconds: float,
        listen: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        given: list[object] = []
        if operation == "scale":
            given = [{self._ref("apps", "Deployment", "web"): REPLICAS}]
        elif wanted := self.life.wanted(operation):
            given = [dying.package(tuple(wanted))]
        getattr(lcm, operation)(
            cluster,
            self.life.name,
            *given,
            namespace=self.life.namespace,
            deadline=Deadline.after(seconds),
            listen=listen,
        )

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
        """The objects that are to be current after it, or to be gone."""
        given = self.life.told.new
        if operation == "instantiate":
            given = self.life.told.old
        return [self._placed(ObjectRef.of(manifest)) for manifest in given]

    def untrue(self, operation: str, cluster: Cluster) -> list[str]:
        """What a healthy server says against the success of it."""
        refs = self.refs(operation)
        if operation == "terminate":
            return truth.existing(cluster, refs)
        return truth.not_current(cluster, refs)

    def compare(self, outcome: Outcome, cluster: Cluster) -> None:
        (wanted,) = self.after(outcome.moment.operation)
        lost, orphaned = stories.differences(
            cluster.until(Deadline.after(AGAIN)),
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


def moments(cluster: Cluster) -> list[Moment]:
    """Every stage of every operation, in a life without a fault."""
    instance = Instance.made(cluster)
    found: dict[Moment, None] = {}
    for operation in OPERATIONS:
        found[Moment(operation, BEGIN)] = None

        def listen(progress: Progress, operation: str = operation) -> None:
            found[Moment(operation, stage_of(progress))] = None

        instance.run(operation, cluster, AGAIN, listen)
    return list(found)


# -- All of them --------------------------------------------------------------


class Meeting:
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

    def hold(self) -> None:
        """Bring the fault when all have arrived."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: self._left <= 0, ARRIVES)
        # Requests go out while the fault begins, and not before it only.
        self._over.set()
        self._begin()
        assert arrived, f"{self._left} did not come to their stage"


def disturbed(
    servers: Servers, fault: Fault, chosen: Sequence[Moment]
) -> list[Outcome]:
    """Let a server have a fault when each instance is at its moment."""
    straight = servers.straight()
    with concurrent.futures.ThreadPoolExecutor(len(chosen)) as threads:
        instances = list(
            threads.map(lambda moment: _led(straight, moment), chosen)
        )
        with broken(servers, fault) as begin:
            meeting = Meeting(len(chosen), begin)
            running = [
                threads.submit(_tried, servers, meeting, *pair)
                for pair in zip(instances, chosen, strict=True)
            ]
            meeting.hold()
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
    servers: Servers, meeting: Meeting, instance: Instance, moment: Moment
) -> Outcome:
    came = threading.Event()
    cluster = servers.balanced()
    straight = servers.straight()
    outcome = Outcome(moment)

    def listen(progress: Progress) -> None:
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
        outcome.wrong = instance.untrue(moment.operation, straight)
    finally:
        outcome.seconds = time.monotonic() - begun
        if not came.is_set():
            outcome.came = False
            meeting.leave()
        cluster.close()
        straight.close()
    return outcome


def _finished(straight: Cluster, instance: Instance, outcome: Outcome) -> None:
    """Finish what ended with an error; look at it; remove all of it."""
    operation = outcome.moment.operation
    done = {
        "instantiate": errors.InstanceExists,
        "terminate": errors.InstanceUnknown,
    }.get(operation, ())
    try:
        if outcome.error:
            with contextlib.suppress(done):
                instance.run(operation, straight, AGAIN)
        instance.compare(outcome, straight)
        outcome.late = [r for r in outcome.orphaned if record.NAME in r]
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


def rows(
    case: str, outcomes: Iterable[Outcome], begun: float
) -> list[figures.Row]:
    """A row for each operation, of what was at its stage."""
    seconds = time.monotonic() - begun
    found = []
    for operation in OPERATIONS:
        some = [
            o for o in outcomes if o.moment.operation == operation and o.came
        ]
        ended = sum(o.error is None and not o.late for o in some)
        found.append(
            figures.Row(
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
