"""Two processes on one instance, of which one stops for a while.

The first is stopped by SIGSTOP at one of its requests, for longer than its
lock lasts, so that the second takes the lock over; then it is continued.
"""

from __future__ import annotations

import functools
import os
import signal
import time

import pytest

from tests.faults import kill_and_retry
from tests.faults import killable_process
from tests.faults import result_table
from tests.faults import scenario
from tests.faults import trial_namespaces as grounds
from tests.faults.api_gate import WatchedProcess
from tests.functional import manifests

pytestmark = pytest.mark.plane

SECOND = {"instantiate": "terminate", "change": "roll_back"}
"""By operation that is stopped, the one that another process begins."""


@pytest.fixture(scope="module")
def trial_environment(cluster, kubeconfig):
    with grounds.prepare(
        cluster, str(kubeconfig), kill_and_retry.AT_ONCE
    ) as made:
        yield made


def stopped(ground, death, namespace):
    """Stop a process at a request, let another work, and continue it."""
    name = ground.name()
    told = scenario.mixed_package(name)
    packages = {
        "instantiate": killable_process.make_package(told.old),
        "change": killable_process.make_package(told.new),
    }

    def begun(operation, server=""):
        package = packages.get(operation)
        task = killable_process.Task(
            operation, name, namespace, package, server=server
        )
        return killable_process.OperationProcess(task, ground.kubeconfig)

    said = []
    if death.operation == "change":
        said.append(begun("instantiate").wait_outcome())
    life = WatchedProcess(death.at, signal=signal.SIGSTOP)
    first = begun(death.operation, ground.gate.add_process(name, life))
    life.pid.set_result(first.pid)

    def next_one():
        # The request at which the first was stopped may be carried out just
        # when this one has read the record, which it then has to read again.
        outcome = begun(SECOND[death.operation]).wait_outcome()
        if outcome.error == "OperationInProgress":
            outcome = begun(SECOND[death.operation]).wait_outcome()
        return outcome

    second = killable_process.Outcome()
    if life.reached.wait(killable_process.SECONDS):
        second = next_one()
        os.kill(first.pid, signal.SIGCONT)
    ended = first.wait_outcome()
    if not life.struck:
        # A machine so busy that the lock was lost without us.
        second = next_one()
    if second.error not in ("", "InstanceNotFound"):
        said.append(second)
    if ended.error not in ("", "OperationInProgress", "LockLost"):
        said.append(ended)
    lost, orphaned = _mixed(ground, name, namespace, told)
    said.append(begun("terminate").wait_outcome())
    return kill_and_retry.Verdict(
        death,
        life.struck,
        tuple(lost),
        tuple(orphaned),
        "; ".join(
            f"{s.error}: {s.sentence}"
            for s in said
            if s.error not in ("", "InstanceNotFound")
        ),
        ended.error,
    )


def _mixed(ground, name, namespace, told):
    """How the cluster differs from the record, or from nothing."""
    inventory = kill_and_retry.read_inventory(ground.cluster, name, namespace)
    wanted = ()
    if inventory:
        names = {ref.name for ref in inventory.owned}
        wanted = told.new if "two" in names else told.old
    return scenario.compare(ground.cluster, name, namespace, told, wanted)


@pytest.mark.parametrize("operation", ["instantiate", "change"])
def test_stopped_at_every_request(trial_environment, table, operation):
    """Who lost the lock writes nothing more.

    What the second left is what is there when the first has ended, too.
    """
    begun = time.monotonic()
    count = kill_and_retry.count_requests(
        trial_environment.ground, operation, trial_environment.namespaces[0]
    )
    deaths = [
        kill_and_retry.KillPoint(operation, at, False)
        for at in range(1, count + 1)
    ]

    verdicts = kill_and_retry.run_trials(
        deaths,
        trial_environment.namespaces,
        functools.partial(stopped, trial_environment.ground),
    )

    refused = sum(verdict.ended != "" for verdict in verdicts)
    table.append(
        result_table.Row(
            f"{operation} stopped for longer than its lock",
            len(verdicts),
            len(verdicts) - refused,
            refused,
            sum(len(verdict.lost) for verdict in verdicts),
            sum(len(verdict.orphaned) for verdict in verdicts),
            count,
            time.monotonic() - begun,
        )
    )
    assert [] == [str(v) for v in verdicts if not v.good]
    assert refused > count / 3
    assert [] == trial_environment.find_leftovers()


@pytest.mark.requirement("M6")
def test_the_holder_of_the_lock_is_named(trial_environment, cluster):
    """The second is refused at once, and changes nothing."""
    name = trial_environment.ground.name()
    namespace = trial_environment.namespaces[0]
    never = manifests.deployment("web", nodeSelector={"example.org/no": "n"})

    def begun(operation, *given, **more):
        package = killable_process.make_package(given) if given else None
        task = killable_process.Task(
            operation, name, namespace, package, **more
        )
        return killable_process.OperationProcess(
            task, trial_environment.ground.kubeconfig
        )

    life = WatchedProcess(1, counts="watch=true", signal=signal.SIGCONT)
    first = begun(
        "instantiate",
        never,
        server=trial_environment.ground.gate.add_process(name, life),
    )
    life.pid.set_result(first.pid)
    assert life.reached.wait(killable_process.SECONDS)
    before = kill_and_retry.read_inventory(cluster, name, namespace)

    second = begun("instantiate", manifests.config_map("a"))

    said = second.wait_outcome()
    assert "OperationInProgress" == said.error
    assert f"/{first.pid}/" in said.sentence
    assert before == kill_and_retry.read_inventory(cluster, name, namespace)
    os.kill(first.pid, signal.SIGKILL)
    assert first.wait_outcome().killed
    assert not begun("terminate").wait_outcome().error
