"""Kill an operation at one of its requests, and check what the next leaves.

Each trial has its own namespace while it lasts, and unique API groups.
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

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.state import store
from tests.faults import killable_process
from tests.faults import result_table
from tests.faults import scenario
from tests.faults.api_gate import ApiGate
from tests.faults.api_gate import WatchedProcess

FINISH = "finish"
ROLL_BACK = "roll back"

AT_ONCE = 32
"""Trials at a time: most wait for the lock of the one that died."""


@dataclasses.dataclass(frozen=True)
class TrialEnvironment:
    """Where trials take place.

    :param prefix: of the names of instances; unique.
    :param tell: return the log of an instance of this name.
    """

    cluster: Cluster
    kubeconfig: str
    gate: ApiGate
    prefix: str
    tell: Callable[[str], scenario.Scenario] = scenario.mixed_package
    numbers: itertools.count[int] = dataclasses.field(
        default_factory=itertools.count
    )

    def name(self) -> str:
        return f"{self.prefix}-{next(self.numbers)}"


@dataclasses.dataclass(frozen=True)
class KillPoint:
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

    death: KillPoint
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


def run_trial(
    ground: TrialEnvironment, death: KillPoint, namespace: str
) -> Verdict:
    """Carry out one trial; what it created is deleted at its end."""
    name = ground.name()
    told = ground.tell(name)
    old, new = (
        killable_process.make_package(told.old),
        killable_process.make_package(told.new),
    )

    def task(operation: str, server: str = "") -> killable_process.Task:
        package = {"instantiate": old, "change": new}.get(operation)
        return killable_process.Task(
            operation, name, namespace, package, server=server
        )

    def run(operation: str) -> killable_process.Outcome:
        return killable_process.OperationProcess(
            task(operation), ground.kubeconfig
        ).wait_outcome()

    before: Mapping[ObjectRef, Manifest] = {}
    said = []
    if death.operation != "instantiate":
        said.append(run("instantiate"))
        before = scenario.find_objects(ground.cluster, namespace, told)
    life = WatchedProcess(death.at, death.after, death.counts)
    dies = killable_process.OperationProcess(
        task(death.operation, ground.gate.add_process(name, life)),
        ground.kubeconfig,
    )
    life.pid.set_result(dies.pid)
    ended = dies.wait_outcome()
    if ended.killed != life.killed or (not ended.killed and ended.error):
        said.append(ended)
    done = _is_idle(ground.cluster, name, namespace)
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
    said.append(_without_expected_error(after, death, done))
    lost, orphaned = scenario.compare(
        ground.cluster, name, namespace, told, wanted
    )
    lost += scenario.replaced_objects(ground.cluster, before, wanted)
    if done and (death.operation == "instantiate" or death.way == ROLL_BACK):
        # Nothing was left to write; the next that writes cleans up.
        orphaned = [ref for ref in orphaned if record_names.PREFIX not in ref]
    if wanted:
        said.append(run("terminate"))
        _, more = scenario.compare(ground.cluster, name, namespace, told, ())
        orphaned += more
    return Verdict(
        death,
        life.struck,
        tuple(lost),
        tuple(orphaned),
        "; ".join(f"{s.error}: {s.sentence}" for s in said if s.error),
    )


def read_inventory(
    cluster: Cluster, name: str, namespace: str
) -> Inventory | None:
    entry = store.read(cluster, name, namespace)
    return entry and entry.inventory


def _is_idle(cluster: Cluster, name: str, namespace: str) -> bool:
    found = read_inventory(cluster, name, namespace)
    return found is not None and found.phase is Phase.INSTANTIATED


def _without_expected_error(
    outcome: killable_process.Outcome, death: KillPoint, done: bool
) -> killable_process.Outcome:
    """Nothing, if an error reports that there was nothing left to do."""
    nothing = death.operation == "terminate" or death.way == ROLL_BACK
    if outcome.error == "InstanceNotFound" and nothing:
        return killable_process.Outcome()
    if outcome.error == "InstanceExists" and done:
        return killable_process.Outcome()
    return outcome


# -- Many trials --------------------------------------------------------------


def count_requests(
    ground: TrialEnvironment, operation: str, namespace: str, counts: str = ""
) -> int:
    """How many requests that count an operation sends that lives."""
    name = ground.name()
    told = ground.tell(name)
    packages = {
        "instantiate": killable_process.make_package(told.old),
        "change": killable_process.make_package(told.new),
    }
    life = WatchedProcess(counts=counts)
    for each in ("instantiate", "change", "terminate"):
        if each == "change" and operation != "change":
            continue
        server = (
            ground.gate.add_process(name, life) if each == operation else ""
        )
        run = killable_process.OperationProcess(
            killable_process.Task(
                each, name, namespace, packages.get(each), server=server
            ),
            ground.kubeconfig,
        )
        if server:
            life.pid.set_result(run.pid)
        ended = run.wait_outcome()
        assert not ended.error, ended
    return life.counted


Item = TypeVar("Item")
Result = TypeVar("Result")


def run_trials(
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


def kill_points(
    operation: str, count: int, counts: str = ""
) -> list[KillPoint]:
    """Before and after each of so many requests that count.

    To die after one leaves what it leaves to die before the next, so that
    both ways to go on are tried on each of these states.
    """
    back = FINISH if operation == "terminate" else ROLL_BACK
    return [
        KillPoint(operation, at, after, back if after else FINISH, counts)
        for at in range(1, count + 1)
        for after in (False, True)
    ]


def result_row(
    case: str, verdicts: Sequence[Verdict], count: int, begun: float
) -> result_table.Row:
    back = sum(v.death.way == ROLL_BACK for v in verdicts)
    return result_table.Row(
        case,
        len(verdicts),
        len(verdicts) - back,
        back,
        sum(len(verdict.lost) for verdict in verdicts),
        sum(len(verdict.orphaned) for verdict in verdicts),
        count,
        time.monotonic() - begun,
    )
