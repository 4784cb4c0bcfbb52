"""A server on the loopback interface that answers as configured."""

from __future__ import annotations

from collections.abc import Iterator
import http.server
import itertools
import threading

import pytest

from tacker_k8s_cr.kube import connect
from tacker_k8s_cr.kube.connection import Connection
from tacker_k8s_cr.kube.http.requests import Client
from tacker_k8s_cr.kube.http.requests import Counter
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.kubeconfig import for_server
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model.deadline import Deadline
from tests.unit.kube.scripted_server import Handler
from tests.unit.kube.scripted_server import ScriptedServer

SECONDS = 20.0

_NUMBERS = itertools.count()


@pytest.fixture
def script() -> ScriptedServer:
    return ScriptedServer()


@pytest.fixture
def url(script: ScriptedServer) -> Iterator[str]:
    handler = type("OfTest", (Handler,), {"script": script})
    # What a process keeps of a server must not reach the next test: each
    # has an address that no other had.
    number = next(_NUMBERS)
    address = f"127.1.{number // 250}.{number % 250 + 1}"
    server = http.server.ThreadingHTTPServer((address, 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://{address}:{server.server_address[1]}"
    script.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def recorded_pauses() -> list[float]:
    """How long a sender paused; no time passes."""
    return []


@pytest.fixture
def sender(url: str, recorded_pauses: list[float]) -> Iterator[Client]:
    kubeconfig = Kubeconfig(where="test", server=url, token="t0ken")
    connection = Connection(lambda: kubeconfig, verify=True, size=2)
    deadline = Deadline.after(SECONDS)
    yield Client(
        connection, url, Counter(), deadline, sleep=recorded_pauses.append
    )
    connection.close()


@pytest.fixture
def cluster(url: str) -> Iterator[Cluster]:
    connected = connect(for_server(url, token="t0ken"), pool=2)
    yield connected.with_deadline(Deadline.after(SECONDS))
    connected.close()
