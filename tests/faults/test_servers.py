"""Three API servers, one of which is not well, or behind the others."""

from __future__ import annotations

from collections.abc import Iterator
import concurrent.futures
import contextlib
import os
import threading
import time
import uuid

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.progress import Progress
from tacker_k8s_cr.recording import leases
from tests.faults import gate
from tests.faults import lives
from tests.faults import own
from tests.faults import servers as faulty
from tests.faults import stages
from tests.functional import manifests
from tools.plane import credentials
from tools.plane.binaries import Store
from tools.plane.folders import Folders
from tools.plane.lifecycle import Plane

pytestmark = pytest.mark.plane

SPACES = 4
"""Instances that are led at once, each in a namespace."""

BUSY = 90.0
"""Seconds for an operation that finds the lock taken for its 15 seconds."""


@pytest.fixture(scope="session")
def three(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[faulty.Servers]:
    """A control plane with three API servers and etcd members.

    Each of several workers has one, as far as it needs one.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    shift = faulty.SHIFT + own.APART * int(worker.removeprefix("gw"))
    folders = Folders(tmp_path_factory.mktemp("three") / "plane", shift=shift)
    folders.make()
    plane = Plane(folders, Store.of(os.environ), lambda said: None)
    plane.up(("control plane", "kwok"), servers=faulty.SERVERS)
    yield faulty.Servers(plane)
    plane.down()


@pytest.fixture
def healthy(three: faulty.Servers) -> Iterator[Cluster]:
    """A server that never has a fault, without the balancer."""
    cluster = three.straight()
    yield cluster
    cluster.close()


@pytest.fixture(scope="session")
def moments(three: faulty.Servers) -> list[stages.Moment]:
    """Every stage of every operation."""
    with contextlib.closing(three.straight()) as cluster:
        return stages.moments(cluster)


@pytest.fixture
def spaces(healthy: Cluster) -> Iterator[list[str]]:
    """Namespaces; they go afterwards."""
    names = [f"s{uuid.uuid4().hex[:8]}" for _ in range(SPACES)]
    made = [
        healthy.create(manifests.namespace(name), "tests") for name in names
    ]
    yield names
    brief = healthy.until(k8s_cr.Deadline.after(own.SECONDS))
    for obj in made:
        ref = k8s_cr.ObjectRef.of(obj)
        brief.delete(ref, obj["metadata"]["uid"])


# -- At each stage ------------------------------------------------------------


@pytest.mark.parametrize("case", faulty.FAULTS)
def test_a_server_has_a_fault_at_each_stage(case, three, moments, table):
    """An operation reports what another server confirms."""
    begun = time.monotonic()

    outcomes = stages.disturbed(three, faulty.FAULTS[case], moments)

    table.extend(stages.rows(f"a server {case}", outcomes, begun))
    assert all(o.good for o in outcomes), "\n".join(map(str, outcomes))


# -- What a server does not know yet ------------------------------------------


@pytest.mark.parametrize("alone", [False, True])
def test_a_definition_that_one_server_does_not_know(
    alone, three, healthy, spaces, table
):
    """Its 404 is not believed; a wait continues until it serves the kind."""

    @contextlib.contextmanager
    def disturb(operation):
        catches_up = threading.Timer(faulty.AWHILE, faulty.catch_up, [three])
        with faulty.lagging(three, alone=alone):
            if alone:
                catches_up.start()
            with contextlib.closing(three.balanced()) as cluster:
                yield lives.Disturbed(cluster)
            if alone:
                catches_up.join()

    who = "the only server" if alone else "one of three servers"
    outcome = lives.led(
        f"a definition unknown to {who}", healthy, spaces, disturb
    )

    table.append(outcome.row)
    assert outcome.good, outcome
    assert outcome.tried == outcome.finished, outcome


def _of_the_past(path: str) -> str:
    """Let a request for a list accept one that is old."""
    if "limit=" in path and "watch=true" not in path:
        return f"{path}&resourceVersion=0"
    return path


def test_a_list_older_than_our_own_write(three, moments, table):
    """Views older than the operation's own write are left out."""
    begun = time.monotonic()
    behind = credentials.server_kubeconfig(three.plane.folders, faulty.FAULTY)

    with gate.opened(str(behind)) as opened:
        way = opened.way("old", gate.Life(asked=_of_the_past))
        outcomes = stages.disturbed(
            faulty.Servers(three.plane, way), faulty.lag_awhile, moments
        )

    table.extend(stages.rows("lists of the past", outcomes, begun))
    assert all(o.good for o in outcomes), "\n".join(map(str, outcomes))


# -- The lock -----------------------------------------------------------------


def _instantiated(spaces: list[str], cluster: Cluster) -> list[lives.Life]:
    found = [lives.begun(namespace, "small") for namespace in spaces]
    with concurrent.futures.ThreadPoolExecutor(SPACES) as threads:
        done = threads.map(
            lambda life: life.run("instantiate", cluster, lives.SECONDS), found
        )
        list(done)
    return found


@pytest.mark.parametrize("holder", ["healthy", "lagging"])
def test_a_lock_that_is_renewed_by_another_server(
    holder, three, healthy, spaces, table
):
    """A second operation ends with Busy, by way of either server."""
    outcome = lives.Outcome(f"a lock held by way of a {holder} server")
    begun = time.monotonic()
    all_ = _instantiated(spaces, healthy)
    holds = threading.Barrier(SPACES + 1)
    may_go_on = threading.Event()

    def hold(life: lives.Life, cluster: Cluster) -> None:
        first = threading.Lock()

        def listen(operation: str, progress: Progress) -> None:
            # Before the first write it may not have the lock yet.
            if progress.awaited and first.acquire(blocking=False):
                holds.wait(lives.SECONDS)
                may_go_on.wait(lives.SECONDS)

        life.run("change", cluster, lives.SECONDS, listen)

    def come(life: lives.Life, cluster: Cluster) -> None:
        with pytest.raises(errors.Busy):
            life.run("terminate", cluster, BUSY)

    with (
        faulty.lagging(three, alone=True),
        contextlib.closing(three.balanced()) as behind,
        concurrent.futures.ThreadPoolExecutor(2 * SPACES) as threads,
    ):
        first, second = (
            (healthy, behind) if holder == "healthy" else (behind, healthy)
        )
        try:
            holding = [threads.submit(hold, life, first) for life in all_]
            holds.wait(lives.SECONDS)
            list(threads.map(lambda life: come(life, second), all_))
        finally:
            may_go_on.set()
        for each in holding:
            each.result()

    for life in all_:
        lives.compare(outcome, life, "change", healthy)
        life.run("terminate", healthy, lives.RECOVERS)
        lives.compare(outcome, life, "terminate", healthy)
    outcome.tried = 2 * SPACES
    outcome.finished = outcome.recovered = SPACES
    outcome.seconds = time.monotonic() - begun
    table.append(outcome.row)
    assert outcome.good, outcome


def test_a_lock_whose_holder_died(three, healthy, spaces, table):
    """One of two operations gets it after its term, the other after that."""
    begun = time.monotonic()
    outcome = lives.Outcome("a dead holder's lock, for two at once")
    all_ = _instantiated(spaces, healthy)
    deadline = k8s_cr.Deadline.after(lives.SECONDS)
    for life in all_:
        leases.taken(healthy, life.name, life.namespace, deadline)

    def come(life: lives.Life, cluster: Cluster) -> errors.Error | None:
        try:
            life.run("change", cluster, lives.SECONDS)
        except errors.Busy as error:
            return error
        return None

    with (
        faulty.lagging(three, alone=True),
        contextlib.closing(three.balanced()) as behind,
        concurrent.futures.ThreadPoolExecutor(2 * SPACES) as threads,
    ):
        pairs = [
            (
                threads.submit(come, life, behind),
                threads.submit(come, life, healthy),
            )
            for life in all_
        ]
        ended = [[one.result() for one in pair] for pair in pairs]

    for life, errors_ in zip(all_, ended, strict=True):
        assert None in errors_, errors_
        lives.compare(outcome, life, "change", healthy)
        life.run("terminate", healthy, lives.RECOVERS)
        lives.compare(outcome, life, "terminate", healthy)
        outcome.tried += len(errors_)
        outcome.finished += errors_.count(None)
        outcome.recovered += len(errors_) - errors_.count(None)
    outcome.seconds = time.monotonic() - begun
    table.append(outcome.row)
    assert outcome.good, outcome
