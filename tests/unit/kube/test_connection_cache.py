"""What operations on one server have in common."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import os
import threading

import pytest

from tacker_k8s_cr.kube import connection_cache
from tacker_k8s_cr.kube import shared
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model.deadline import Deadline
from tests.unit.kube.scripted_server import ScriptedServer
from tests.unit.kube.scripted_server import answer_json

SAYS = answer_json(200, {"gitVersion": "v1.36.0"})


def of(url: str, token: str = "t0ken") -> Kubeconfig:  # noqa: S107
    return Kubeconfig(where="VIM edge", server=url, token=token)


def ask(cluster: Cluster) -> str:
    return cluster.with_deadline(Deadline.after(20)).version()


def connections(script: ScriptedServer) -> int:
    return len({sent.connection for sent in script.sent})


@pytest.mark.requirement("P25")
def test_operations_share_connections(
    script: ScriptedServer, url: str
) -> None:
    """One way to a server, and each counts its own requests."""
    script.then(*[SAYS] * 3)

    with shared(of(url)) as one, shared(of(url)) as other:
        ask(one)
        ask(other)
        ask(other)

        assert (1, 2) == (one.requests, other.requests)
    assert 1 == connections(script)


def test_nothing_stays_open(script: ScriptedServer, url: str) -> None:
    """The last user closes it; the next opens it again."""
    script.then(*[SAYS] * 3)

    with shared(of(url)) as one:
        with shared(of(url)) as other:
            ask(other)
        ask(one)
    with shared(of(url)) as later:
        ask(later)

    assert 2 == connections(script)


def test_another_credential_shares_nothing(
    script: ScriptedServer, url: str
) -> None:
    """Sessions of two users of one server are not mixed."""
    script.then(*[SAYS] * 2)

    with shared(of(url)) as one, shared(of(url, "other")) as other:
        ask(one)
        ask(other)

    assert 2 == connections(script)
    assert ["Bearer t0ken", "Bearer other"] == [
        sent.headers["Authorization"] for sent in script.sent
    ]


def test_a_credential_without_tls_is_spoken_of(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Once for each server, whatever else is not verified."""
    unreachable = Kubeconfig(where="test", server="http://absent.example.org")

    for kubeconfig in (of(url), of(url), unreachable):
        with shared(kubeconfig):
            pass

    assert [f"{url}: the credential is sent without TLS"] == caplog.messages


def test_a_pool_for_all(url: str) -> None:
    """So many threads, however many operations work on a server."""
    busy = []
    most = []
    lock = threading.Lock()

    def work(item: int) -> int:
        with lock:
            busy.append(item)
            most.append(len(busy))
        with lock:
            busy.remove(item)
        return item

    def operation(_: int) -> int:
        with shared(of(url), 2) as cluster:
            return len(list(cluster.map_parallel(work, range(50))))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert [50] * 8 == list(pool.map(operation, range(8)))
    assert max(most) <= 2


# Where Tacker was imported before, eventlet warns of every fork.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_shares_nothing_with_its_parent(
    script: ScriptedServer, url: str
) -> None:
    """Neither a connection nor a lock."""
    script.then(*[SAYS] * 2)

    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(shared(of(url)))
        ask(cluster)
        child = os.fork()
        if not child:
            code = 1
            with contextlib.suppress(BaseException), shared(of(url)) as own:
                ask(own)
                code = 0
            os._exit(code)
        _, status = os.waitpid(child, 0)

    assert 0 == status
    assert 2 == connections(script)


def test_a_key_holds_no_secret(url: str) -> None:
    """What is shared is found by a digest."""
    kubeconfig = dataclasses.replace(of(url, "planted"), password="planted")

    with shared(kubeconfig):
        assert "planted" not in repr(vars(connection_cache))
