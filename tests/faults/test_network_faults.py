"""Faults of a server or a network, configured in a proxy.

The answers are worded as kube-apiserver 1.36 words them.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import json
import threading
import time
from typing import Any

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube.kubeconfig import for_server
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tests import malformed_packages
from tests.faults import lifecycles
from tests.unit import test_malformed_packages

pytestmark = pytest.mark.plane

WRITES = ["PATCH", "POST", "PUT", "DELETE"]
WATCHES = "watch=true"
NO_WATCH = "^(?!.*watch=true)"


def refusal(code: int, reason: str, message: str) -> str:
    return json.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "code": code,
        }
    )


BUSY = refusal(
    429,
    "TooManyRequests",
    "Too many requests, please try again later.",
)
INTERNAL = refusal(
    500,
    "InternalError",
    "Internal error occurred: etcdserver: leader changed",
)
AWAY = refusal(
    503,
    "ServiceUnavailable",
    "the server is currently unable to handle the request",
)
TIMEOUT = refusal(
    504,
    "Timeout",
    "Timeout: request did not complete within the allotted timeout",
)
FULL = refusal(500, "", "etcdserver: mvcc: database space exceeded")
OLD = refusal(410, "Expired", "too old resource version: 1 (2)")
OLD_EVENT = json.dumps({"type": "ERROR", "object": json.loads(OLD)}) + "\n"

CASES: dict[str, dict[str, Any]] = {
    "429 with Retry-After": {
        "fault": "answer",
        "every": 5,
        "code": 429,
        "headers": {"Retry-After": "1"},
        "body": BUSY,
    },
    "500": {"fault": "answer", "every": 5, "code": 500, "body": INTERNAL},
    "500, though carried out": {
        "fault": "lost",
        "methods": WRITES,
        "every": 4,
        "code": 500,
        "body": INTERNAL,
    },
    "503": {"fault": "answer", "every": 4, "code": 503, "body": AWAY},
    "504, though carried out": {
        "fault": "lost",
        "methods": WRITES,
        "every": 3,
        "code": 504,
        "body": TIMEOUT,
    },
    "connection cut in a body": {
        "fault": "cut",
        "path": NO_WATCH,
        "every": 4,
    },
    "connection cut, though carried out": {
        "fault": "lost",
        "path": NO_WATCH,
        "every": 4,
    },
    "watch cut in an event": {"fault": "cut", "path": WATCHES, "times": 12},
    "watch answers 410": {
        "fault": "answer",
        "path": WATCHES,
        "times": 12,
        "code": 410,
        "body": OLD,
    },
    "watch ends with a 410": {
        "fault": "answer",
        "path": WATCHES,
        "times": 12,
        "code": 200,
        "body": OLD_EVENT,
    },
    "watch goes silent": {"fault": "silent", "path": WATCHES, "times": 4},
    "two seconds for each request": {"fault": "slow", "seconds": 2.0},
}


@pytest.fixture
def proxied_cluster(faults, admin_token) -> Iterator[Cluster]:
    """The API server by way of the proxy."""
    cluster = k8s_cr.connect(
        for_server(faults.url, token=admin_token, ca=faults.ca)
    )
    yield cluster
    cluster.close()


@pytest.fixture
def faulty_connection(faults, proxied_cluster):
    """Makes a fault for as long as an operation lasts."""

    def by(rule):
        @contextlib.contextmanager
        def disturb(operation):
            faults.set_rules(rule)
            try:
                yield lifecycles.FaultyConnection(proxied_cluster)
                assert sum(faults.count_matches()), (
                    "no request has met the fault"
                )
            finally:
                faults.set_rules()

        return disturb

    return by


@pytest.mark.parametrize("case", CASES)
def test_what_passes_is_lived_through(
    case, faulty_connection, direct_cluster, two_namespaces, table
):
    """Every operation finishes on its own, nothing is lost."""
    outcome = lifecycles.run_lifecycles(
        case, direct_cluster, two_namespaces, faulty_connection(CASES[case])
    )

    table.append(outcome.row)
    assert outcome.good, outcome
    assert outcome.tried == outcome.finished, outcome


def test_a_full_store_is_reported(
    faulty_connection, direct_cluster, two_namespaces, table
):
    """The server's words, within a minute; the next run finishes."""
    rule = {"fault": "answer", "methods": WRITES, "code": 500, "body": FULL}

    outcome = lifecycles.run_lifecycles(
        "etcd out of space",
        direct_cluster,
        two_namespaces,
        faulty_connection(rule),
    )

    table.append(outcome.row)
    assert outcome.good, outcome
    assert outcome.tried == outcome.recovered
    assert all("database space exceeded" in said for said in outcome.said)


NOTHING = 600.0
LIMIT = 8.0
"""Seconds of the operation."""
PAST = 18.0
"""Seconds after that: some 12, and what a busy machine adds."""


@pytest.mark.parametrize("operation", ["instantiate", "terminate"])
@pytest.mark.requirement("P25")
def test_a_server_that_answers_nothing_is_not_waited_for(
    operation, faults, proxied_cluster, direct_cluster, two_namespaces
):
    """An operation ends some seconds after its deadline, at most."""
    life = lifecycles.new_lifecycle(two_namespaces[0], "slow")
    if operation == "terminate":
        life.run("instantiate", direct_cluster, 120)
    silent = threading.Event()

    def listen(operation, progress):
        if progress.unsettled and not silent.is_set():
            silent.set()
            faults.set_rules({"fault": "slow", "seconds": NOTHING})

    begin = time.monotonic()
    try:
        with pytest.raises(errors.Error):
            life.run(operation, proxied_cluster, LIMIT, listen)
        took = time.monotonic() - begin
    finally:
        faults.set_rules()

    assert silent.is_set()
    assert took < LIMIT + PAST
    if operation == "instantiate":
        life.run("instantiate", direct_cluster, 120)
    lifecycles.repeat_operation(life, "terminate", direct_cluster)


# -- Packages -----------------------------------------------------------------

FOLDERS = range(100_000, 101_700)
CSARS = range(200_000, 200_300)
REAL = 200
"""Of the folders, such as a real server is asked about."""


def test_spoiled_packages_are_refused_in_words(tmp_path):
    """Two thousand of them: no traceback, no write."""
    sources = malformed_packages.source_packages(tmp_path)

    for of, numbers in (
        (malformed_packages.malformed_folders(sources), FOLDERS),
        (malformed_packages.malformed_csars(sources), CSARS),
    ):
        refused = malformed_packages.try_packages(
            of, numbers, tmp_path, test_malformed_packages.outcome
        )
        assert len(numbers) / 2 < refused


def test_a_real_server_is_asked_about_spoiled_packages(
    faults, proxied_cluster, two_namespaces, tmp_path
):
    """The error claims only what is certain, and nothing is written.

    A valid package would be written: the proxy refuses that first write.
    """
    sources = malformed_packages.malformed_folders(
        malformed_packages.source_packages(tmp_path)
    )
    body = refusal(403, "Forbidden", "the proxy lets nothing be written")
    rule = {
        "fault": "answer",
        "path": "^(?!.*(dryRun=All|authorization[.]k8s[.]io))",
        "methods": WRITES,
        "code": 403,
        "body": body,
    }
    written = 0

    def outcome(path):
        nonlocal written
        faults.set_rules(rule)
        try:
            lcm.instantiate(
                lcm.Request(
                    proxied_cluster,
                    "one",
                    namespace=two_namespaces[0],
                    deadline=k8s_cr.Deadline.after(60),
                ),
                k8s_cr.load(path),
            )
        except errors.Error as error:
            said = error
        else:
            raise AssertionError("something was written")
        assert malformed_packages.is_clear_message(str(said))
        assert malformed_packages.is_clear_message(said.sentence())
        (met,) = faults.count_matches()
        assert met <= 1 or "lets nothing" in str(said)
        written += bool(met)
        return str(said)

    try:
        malformed_packages.try_packages(
            sources, FOLDERS[:REAL], tmp_path, outcome
        )
    finally:
        faults.set_rules()

    # The others were refused before the first write.
    assert written < REAL / 2
