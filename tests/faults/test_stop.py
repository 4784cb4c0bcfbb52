"""Two processes on one instance, of which one stops for a while (M6).

The first is stopped by SIGSTOP at one of its requests, for longer than its
lock lasts, so that the second takes the lock over; then it is continued.
"""

from __future__ import annotations

import functools
import os
import signal
import time

import pytest

from tests.faults import dying
from tests.faults import figures
from tests.faults import ground as grounds
from tests.faults import story
from tests.faults import trials
from tests.faults.gate import Life
from tests.functional import manifests

pytestmark = pytest.mark.plane

SECOND = {"instantiate": "terminate", "change": "roll_back"}
"""By operation that is stopped, the one that another process begins."""


@pytest.fixture(scope="module")
def ground(cluster, kubeconfig):
    with grounds.prepared(cluster, str(kubeconfig), trials.AT_ONCE) as made:
        yield made


def stopped(ground, death, namespace):
    """Stop a process at a request, let another work, and continue it."""
    name = ground.name()
    told = story.story(name)
    packages = {
        "instantiate": dying.package(told.old),
        "change": dying.package(told.new),
    }

    def begun(operation, server=""):
        package = packages.get(operation)
        task = dying.Task(operation, name, namespace, package, server=server)
        return dying.Run(task, ground.kubeconfig)

    said = []
    if death.operation == "change":
        said.append(begun("instantiate").outcome())
    life = Life(death.at, signal=signal.SIGSTOP)
    first = begun(death.operation, ground.gate.way(name, life))
    life.pid.set_result(first.pid)

    def next_one():
        # The request at which the first was stopped may be carried out just
        # when this one has read the record, which it then has to read again.
        outcome = begun(SECOND[death.operation]).outcome()
        if outcome.error == "Busy":
            outcome = begun(SECOND[death.operation]).outcome()
        return outcome

    second = dying.Outcome()
    if life.reached.wait(dying.SECONDS):
        second = next_one()
        os.kill(first.pid, signal.SIGCONT)
    ended = first.outcome()
    if not life.struck:
        # A machine so busy that the lock was lost without us.
        second = next_one()
    if second.error not in ("", "InstanceUnknown"):
        said.append(second)
    if ended.error not in ("", "Busy", "LockLost"):
        said.append(ended)
    lost, orphaned = _mixed(ground, name, namespace, told)
    said.append(begun("terminate").outcome())
    return trials.Verdict(
        death,
        life.struck,
        tuple(lost),
        tuple(orphaned),
        "; ".join(
            f"{s.error}: {s.sentence}"
            for s in said
            if s.error not in ("", "InstanceUnknown")
        ),
        ended.error,
    )


def _mixed(ground, name, namespace, told):
    """How the cluster differs from what the record says, or from nothing."""
    inventory = trials.inventory(ground.cluster, name, namespace)
    wanted = ()
    if inventory:
        names = {ref.name for ref in inventory.owned}
        wanted = told.new if "two" in names else told.old
    return story.differences(ground.cluster, name, namespace, told, wanted)


@pytest.mark.parametrize("operation", ["instantiate", "change"])
def test_stopped_at_every_request(ground, table, operation):
    """Who lost the lock writes nothing more (M6).

    What the second left is what is there when the first has ended, too.
    """
    begun = time.monotonic()
    count = trials.requests(ground.ground, operation, ground.namespaces[0])
    deaths = [trials.Death(operation, at, False) for at in range(1, count + 1)]

    verdicts = trials.all_of(
        deaths,
        ground.namespaces,
        functools.partial(stopped, ground.ground),
    )

    refused = sum(verdict.ended != "" for verdict in verdicts)
    table.append(
        figures.Row(
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
    assert [] == ground.left()


def test_who_has_the_lock_is_named(ground, cluster):
    """The second is refused at once, and changes nothing (M6)."""
    name = ground.ground.name()
    namespace = ground.namespaces[0]
    never = manifests.deployment("web", nodeSelector={"example.org/no": "n"})

    def begun(operation, *given, **more):
        package = dying.package(given) if given else None
        task = dying.Task(operation, name, namespace, package, **more)
        return dying.Run(task, ground.ground.kubeconfig)

    life = Life(1, counts="watch=true", signal=signal.SIGCONT)
    first = begun(
        "instantiate", never, server=ground.ground.gate.way(name, life)
    )
    life.pid.set_result(first.pid)
    assert life.reached.wait(dying.SECONDS)
    before = trials.inventory(cluster, name, namespace)

    second = begun("instantiate", manifests.config_map("a"))

    said = second.outcome()
    assert "Busy" == said.error
    assert f"/{first.pid}/" in said.sentence
    assert before == trials.inventory(cluster, name, namespace)
    os.kill(first.pid, signal.SIGKILL)
    assert first.outcome().killed
    assert not begun("terminate").outcome().error
