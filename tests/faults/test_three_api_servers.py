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
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.state import leases
from tacker_k8s_cr.wait.progress import WaitState
from tests.faults import api_gate
from tests.faults import fault_plane
from tests.faults import instances_by_stage
from tests.faults import lifecycles
from tests.faults import three_api_servers as faulty
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
def three_servers(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[faulty.Servers]:
    """A control plane with three API servers and etcd members.

    Each of several workers has one, as far as it needs one.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    shift = faulty.SHIFT + fault_plane.APART * int(worker.removeprefix("gw"))
    folders = Folders(tmp_path_factory.mktemp("three") / "plane", shift=shift)
    folders.make()
    plane = Plane(folders, Store.from_environ(os.environ), lambda said: None)
    plane.up(("control plane", "kwok"), servers=faulty.SERVERS)
    yield faulty.Servers(plane)
    plane.down()


@pytest.fixture
def healthy_server(three_servers: faulty.Servers) -> Iterator[Cluster]:
    """A server that never has a fault, without the balancer."""
    cluster = three_servers.direct_cluster()
    yield cluster
    cluster.close()


@pytest.fixture(scope="session")
def recorded_moments(
    three_servers: faulty.Servers,
) -> list[instances_by_stage.Moment]:
    """Every stage of every operation."""
    with contextlib.closing(three_servers.direct_cluster()) as cluster:
        return instances_by_stage.record_moments(cluster)


@pytest.fixture
def namespaces(healthy_server: Cluster) -> Iterator[list[str]]:
    """Namespaces; they go afterwards."""
    names = [f"s{uuid.uuid4().hex[:8]}" for _ in range(SPACES)]
    made = [
        healthy_server.create(manifests.namespace(name), "tests")
        for name in names
    ]
    yield names
    brief = healthy_server.with_deadline(
        k8s_cr.Deadline.after(fault_plane.SECONDS)
    )
    for obj in made:
        ref = k8s_cr.ObjectRef.of(obj)
        brief.delete(ref, obj["metadata"]["uid"])


# -- At each stage ------------------------------------------------------------


@pytest.mark.parametrize("case", faulty.FAULTS)
def test_a_server_has_a_fault_at_each_stage(
    case, three_servers, recorded_moments, table
):
    """An operation reports what another server confirms."""
    begun = time.monotonic()

    outcomes = instances_by_stage.run_with_fault(
        three_servers, faulty.FAULTS[case], recorded_moments
    )

    table.extend(
        instances_by_stage.result_rows(f"a server {case}", outcomes, begun)
    )
    assert all(o.good for o in outcomes), "\n".join(map(str, outcomes))


# -- What a server does not know yet ------------------------------------------


@pytest.mark.parametrize("alone", [False, True])
def test_a_definition_that_one_server_does_not_serve_yet(
    alone, three_servers, healthy_server, namespaces, table
):
    """Its 404 is not believed; a wait continues until it serves the kind."""

    @contextlib.contextmanager
    def disturb(operation):
        catches_up = threading.Timer(
            faulty.AWHILE, faulty.end_lag, [three_servers]
        )
        with faulty.lagging_server(three_servers, alone=alone):
            if alone:
                catches_up.start()
            with contextlib.closing(three_servers.balanced()) as cluster:
                yield lifecycles.FaultyConnection(cluster)
            if alone:
                catches_up.join()

    who = "the only server" if alone else "one of three servers"
    outcome = lifecycles.run_lifecycles(
        f"a definition unknown to {who}", healthy_server, namespaces, disturb
    )

    table.append(outcome.row)
    assert outcome.good, outcome
    assert outcome.tried == outcome.finished, outcome


def _of_the_past(path: str) -> str:
    """Let a request for a list accept one that is old."""
    if "limit=" in path and "watch=true" not in path:
        return f"{path}&resourceVersion=0"
    return path


def test_a_list_older_than_our_own_write(
    three_servers, recorded_moments, table
):
    """Views older than the operation's own write are left out."""
    begun = time.monotonic()
    behind = credentials.server_kubeconfig(
        three_servers.plane.folders, faulty.FAULTY
    )

    with api_gate.open_gate(str(behind)) as opened:
        way = opened.add_process(
            "old", api_gate.WatchedProcess(asked=_of_the_past)
        )
        outcomes = instances_by_stage.run_with_fault(
            faulty.Servers(three_servers.plane, way),
            faulty.lag_temporarily,
            recorded_moments,
        )

    table.extend(
        instances_by_stage.result_rows("lists of the past", outcomes, begun)
    )
    assert all(o.good for o in outcomes), "\n".join(map(str, outcomes))


# -- The lock -----------------------------------------------------------------


def _instantiated(
    spaces: list[str], cluster: Cluster
) -> list[lifecycles.InstanceLifecycle]:
    found = [
        lifecycles.new_lifecycle(namespace, "small") for namespace in spaces
    ]
    with concurrent.futures.ThreadPoolExecutor(SPACES) as threads:
        done = threads.map(
            lambda life: life.run("instantiate", cluster, lifecycles.SECONDS),
            found,
        )
        list(done)
    return found


@pytest.mark.parametrize("holder", ["healthy", "lagging"])
def test_a_lock_that_is_renewed_by_another_server(
    holder, three_servers, healthy_server, namespaces, table
):
    """A second operation ends with Busy, by way of either server."""
    outcome = lifecycles.Outcome(f"a lock held by way of a {holder} server")
    begun = time.monotonic()
    all_ = _instantiated(namespaces, healthy_server)
    holds = threading.Barrier(SPACES + 1)
    may_go_on = threading.Event()

    def hold(life: lifecycles.InstanceLifecycle, cluster: Cluster) -> None:
        first = threading.Lock()

        def listen(operation: str, progress: WaitState) -> None:
            # Before the first write it may not have the lock yet.
            if progress.awaited and first.acquire(blocking=False):
                holds.wait(lifecycles.SECONDS)
                may_go_on.wait(lifecycles.SECONDS)

        life.run("change", cluster, lifecycles.SECONDS, listen)

    def come(life: lifecycles.InstanceLifecycle, cluster: Cluster) -> None:
        with pytest.raises(errors.OperationInProgress):
            life.run("terminate", cluster, BUSY)

    with (
        faulty.lagging_server(three_servers, alone=True),
        contextlib.closing(three_servers.balanced()) as behind,
        concurrent.futures.ThreadPoolExecutor(2 * SPACES) as threads,
    ):
        first, second = (
            (healthy_server, behind)
            if holder == "healthy"
            else (behind, healthy_server)
        )
        try:
            holding = [threads.submit(hold, life, first) for life in all_]
            holds.wait(lifecycles.SECONDS)
            list(threads.map(lambda life: come(life, second), all_))
        finally:
            may_go_on.set()
        for each in holding:
            each.result()

    for life in all_:
        lifecycles.compare_with_cluster(
            outcome, life, "change", healthy_server
        )
        life.run("terminate", healthy_server, lifecycles.RECOVERS)
        lifecycles.compare_with_cluster(
            outcome, life, "terminate", healthy_server
        )
    outcome.tried = 2 * SPACES
    outcome.finished = outcome.recovered = SPACES
    outcome.seconds = time.monotonic() - begun
    table.append(outcome.row)
    assert outcome.good, outcome


def test_a_lock_whose_holder_died(
    three_servers, healthy_server, namespaces, table
):
    """One of two operations gets it after its term, the other after that."""
    begun = time.monotonic()
    outcome = lifecycles.Outcome("a dead holder's lock, for two at once")
    all_ = _instantiated(namespaces, healthy_server)
    deadline = k8s_cr.Deadline.after(lifecycles.SECONDS)
    for life in all_:
        leases.acquire(healthy_server, life.name, life.namespace, deadline)

    def come(
        life: lifecycles.InstanceLifecycle, cluster: Cluster
    ) -> errors.Error | None:
        try:
            life.run("change", cluster, lifecycles.SECONDS)
        except errors.OperationInProgress as error:
            return error
        return None

    with (
        faulty.lagging_server(three_servers, alone=True),
        contextlib.closing(three_servers.balanced()) as behind,
        concurrent.futures.ThreadPoolExecutor(2 * SPACES) as threads,
    ):
        pairs = [
            (
                threads.submit(come, life, behind),
                threads.submit(come, life, healthy_server),
            )
            for life in all_
        ]
        ended = [[one.result() for one in pair] for pair in pairs]

    for life, errors_ in zip(all_, ended, strict=True):
        assert None in errors_, errors_
        lifecycles.compare_with_cluster(
            outcome, life, "change", healthy_server
        )
        life.run("terminate", healthy_server, lifecycles.RECOVERS)
        lifecycles.compare_with_cluster(
            outcome, life, "terminate", healthy_server
        )
        outcome.tried += len(errors_)
        outcome.finished += errors_.count(None)
        outcome.recovered += len(errors_) - errors_.count(None)
    outcome.seconds = time.monotonic() - begun
    table.append(outcome.row)
    assert outcome.good, outcome
