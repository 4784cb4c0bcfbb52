"""Kill an operation at one of its requests, and look at what the next leaves.

A trial has a namespace for itself as long as it lasts, and API groups that
nobody else has.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import concurrent.futures
import dataclasses
import itertools
import queue
import time
from typing import TypeVar

from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.recording import record
from tests.faults import dying
from tests.faults import figures
from tests.faults import story
from tests.faults.gate import Gate
from tests.faults.gate import Life

FINISH = "finish"
ROLL_BACK = "roll back"

AT_ONCE = 32
"""Trials at a time: most wait for the lock of the one that died."""


@dataclasses.dataclass(frozen=True)
class Ground:
    """Where trials take place.

    :param prefix: of the names of instances; nobody else has it.
    :param tell: the story of an instance of this name.
    """

    cluster: Cluster
    kubeconfig: str
    gate: Gate
    prefix: str
    tell: Callable[[str], story.Story] = story.story
    numbers: itertools.count[int] = dataclasses.field(
        default_factory=itertools.count
    )

    def name(self) -> str:
        return f"{self.prefix}-{next(self.numbers)}"


@dataclasses.dataclass(frozen=True)
class Death:
    """When an operation dies, and what is done next.

    :param at: of the requests that count, the one at which it dies.
    :param after: when its answer is there, rather than before it is sent.
    """

    operation: str
    at: int
    after: bool
    way: str = FINISH
    counts: str = ""

    def __str__(self) -> str:
        moment = "after" if self.after else "before"
        return f"{self.operation}, {moment} request {self.at}, {self.way}"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What the next operation left.

    :param struck: the request at which it died; empty if it survived.
    :param said: errors that should not have been.
    :param ended: the error of one that lived on.
    """

    death: Death
    struck: str
    lost: tuple[str, ...]
    orphaned: tuple[str, ...]
    said: str = ""
    ended: str = ""

    @property
    def good(self) -> bool:
        return not self.lost and not self.orphaned and not self.said

    def __str__(self) -> str:
        return (
            f"{self.death} ({self.struck}): lost {list(self.lost)}, "
            f"orphaned {list(self.orphaned)}; {self.said}"
        )


# -- One trial ----------------------------------------------------------------


def tried(ground: Ground, death: Death, namespace: str) -> Verdict:
    """Carry out one trial; what it made is gone at its end."""
    name = ground.name()
    told = ground.tell(name)
    old, new = dying.package(told.old), dying.package(told.new)

    def task(operation: str, server: str = "") -> dying.Task:
        package = {"instantiate": old, "change": new}.get(operation)
        return dying.Task(operation, name, namespace, package, server=server)

    def run(operation: str) -> dying.Outcome:
        return dying.Run(task(operation), ground.kubeconfig).outcome()

    before: Mapping[ObjectRef, Manifest] = {}
    said = []
    if death.operation != "instantiate":
        said.append(run("instantiate"))
        before = story.there(ground.cluster, namespace, told)
    life = Life(death.at, death.after, death.counts)
    dies = dying.Run(
        task(death.operation, ground.gate.way(name, life)), ground.kubeconfig
    )
    life.pid.set_result(dies.pid)
    ended = dies.outcome()
    if ended.killed != life.killed or (not ended.killed and ended.error):
        said.append(ended)
    done = _at_rest(ground.cluster, name, namespace)
    if death.way == ROLL_BACK:
        after = run("roll_back")
        wanted = told.old
        if death.operation == "instantiate" and not done:
            wanted = ()
    else:
        after = run(death.operation)
        wanted = {"instantiate": told.old, "change": told.new}.get(
            death.operation, ()
        )
    said.append(_unless_meant(after, death, done))
    lost, orphaned = story.differences(
        ground.cluster, name, namespace, told, wanted
    )
    lost += story.replaced(ground.cluster, before, wanted)
    if done and (death.operation == "instantiate" or death.way == ROLL_BACK):
        # Nothing was left to write; the next that writes cleans up.
        orphaned = [ref for ref in orphaned if record.NAME not in ref]
    if wanted:
        said.append(run("terminate"))
        _, more = story.differences(ground.cluster, name, namespace, told, ())
        orphaned += more
    return Verdict(
        death,
        life.struck,
        tuple(lost),
        tuple(orphaned),
        "; ".join(f"{s.error}: {s.sentence}" for s in said if s.error),
    )


def inventory(cluster: Cluster, name: str, namespace: str) -> Inventory | None:
    entry = record.read(cluster, name, namespace)
    return entry and entry.inventory


def _at_rest(cluster: Cluster, name: str, namespace: str) -> bool:
    found = inventory(cluster, name, namespace)
    return found is not None and found.phase is Phase.INSTANTIATED


def _unless_meant(
    outcome: dying.Outcome, death: Death, done: bool
) -> dying.Outcome:
    """Nothing, if an error says that there was nothing left to do."""
    nothing = death.operation == "terminate" or death.way == ROLL_BACK
    if outcome.error == "InstanceUnknown" and nothing:
        return dying.Outcome()
    if outcome.error == "InstanceExists" and done:
        return dying.Outcome()
    return outcome


# -- Many trials --------------------------------------------------------------


def requests(
    ground: Ground, operation: str, namespace: str, counts: str = ""
) -> int:
    """How many requests that count an operation sends that lives."""
    name = ground.name()
    told = ground.tell(name)
    packages = {
        "instantiate": dying.package(told.old),
        "change": dying.package(told.new),
    }
    life = Life(counts=counts)
    for each in ("instantiate", "change", "terminate"):
        if each == "change" and operation != "change":
            continue
        server = ground.gate.way(name, life) if each == operation else ""
        run = dying.Run(
            dying.Task(
                each, name, namespace, packages.get(each), server=server
            ),
            ground.kubeconfig,
        )
        if server:
            life.pid.set_result(run.pid)
        ended = run.outcome()
        assert not ended.error, ended
    return life.counted


Item = TypeVar("Item")
Result = TypeVar("Result")


def all_of(
    items: Iterable[Item],
    namespaces: Sequence[str],
    trial: Callable[[Item, str], Result],
) -> list[Result]:
    """Carry out trials, as many at a time as there are namespaces."""
    free: queue.SimpleQueue[str] = queue.SimpleQueue()
    for namespace in namespaces:
        free.put(namespace)

    def one(item: Item) -> Result:
        namespace = free.get()
        try:
            return trial(item, namespace)
        finally:
            free.put(namespace)

    with concurrent.futures.ThreadPoolExecutor(len(namespaces)) as pool:
        return list(pool.map(one, items))


def every_death(operation: str, count: int, counts: str = "") -> list[Death]:
    """Before and after each of so many requests that count.

    To die after one leaves what it leaves to die before the next, so that
    both ways to go on are tried on each of these states.
    """
    back = FINISH if operation == "terminate" else ROLL_BACK
    return [
        Death(operation, at, after, back if after else FINISH, counts)
        for at in range(1, count + 1)
        for after in (False, True)
    ]


def row(
    case: str, verdicts: Sequence[Verdict], count: int, begun: float
) -> figures.Row:
    back = sum(v.death.way == ROLL_BACK for v in verdicts)
    return figures.Row(
        case,
        len(verdicts),
        len(verdicts) - back,
        back,
        sum(len(verdict.lost) for verdict in verdicts),
        sum(len(verdict.orphaned) for verdict in verdicts),
        count,
        time.monotonic() - begun,
    )
