"""What a server or a network does to requests, told to a proxy.

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
from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr.cluster.protocol import Cluster
from tests import malformed
from tests.faults import lives
from tests.unit import test_malformed

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
def through(faults, own_token) -> Iterator[Cluster]:
    """The API server by way of the proxy."""
    cluster = k8s_cr.connect(server=faults.url, token=own_token, ca=faults.ca)
    yield cluster
    cluster.close()


@pytest.fixture
def disturbed(faults, through):
    """Makes a fault for as long as an operation lasts."""

    def by(rule):
        @contextlib.contextmanager
        def disturb(operation):
            faults.make(rule)
            try:
                yield lives.Disturbed(through)
                assert sum(faults.met()), "no request has met the fault"
            finally:
                faults.make()

        return disturb

    return by


@pytest.mark.parametrize("case", CASES)
def test_what_passes_is_lived_through(
    case, disturbed, straight, own_namespaces, table
):
    """Every operation finishes by itself, nothing is lost (P5, P25)."""
    outcome = lives.led(case, straight, own_namespaces, disturbed(CASES[case]))

    table.append(outcome.row)
    assert outcome.good, outcome
    assert outcome.tried == outcome.finished, outcome


def test_a_full_store_is_told(disturbed, straight, own_namespaces, table):
    """The server's words, within a minute; the next run finishes (P5)."""
    rule = {"fault": "answer", "methods": WRITES, "code": 500, "body": FULL}

    outcome = lives.led(
        "etcd out of space", straight, own_namespaces, disturbed(rule)
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
def test_a_server_that_answers_nothing_is_not_waited_for(
    operation, faults, through, straight, own_namespaces
):
    """An operation ends some seconds after its deadline, at most (P25)."""
    life = lives.begun(own_namespaces[0], "slow")
    if operation == "terminate":
        life.run("instantiate", straight, 120)
    silent = threading.Event()

    def listen(operation, progress):
        if progress.unsettled and not silent.is_set():
            silent.set()
            faults.make({"fault": "slow", "seconds": NOTHING})

    begin = time.monotonic()
    try:
        with pytest.raises(errors.Error):
            life.run(operation, through, LIMIT, listen)
        took = time.monotonic() - begin
    finally:
        faults.make()

    assert silent.is_set()
    assert took < LIMIT + PAST
    if operation == "instantiate":
        life.run("instantiate", straight, 120)
    lives.again(life, "terminate", straight)


# -- Packages -----------------------------------------------------------------

FOLDERS = range(100_000, 101_700)
CSARS = range(200_000, 200_300)
REAL = 200
"""Of the folders, such as a real server is asked about."""


def test_spoiled_packages_are_refused_in_words(tmp_path):
    """Two thousand of them: no traceback, no write (P5)."""
    sources = malformed.sources(tmp_path)

    for of, numbers in (
        (malformed.folders(sources), FOLDERS),
        (malformed.csars(sources), CSARS),
    ):
        refused = malformed.tried(
            of, numbers, tmp_path, test_malformed.outcome
        )
        assert len(numbers) / 2 < refused


def test_a_real_server_is_asked_about_spoiled_packages(
    faults, through, own_namespaces, tmp_path
):
    """It says no more than we can tell, and nothing is written (P5).

    What it finds nothing wrong with would be written: the proxy refuses
    that first write.
    """
    sources = malformed.folders(malformed.sources(tmp_path))
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
        faults.make(rule)
        try:
            lcm.instantiate(
                through,
                "one",
                k8s_cr.load(path),
                namespace=own_namespaces[0],
                deadline=k8s_cr.Deadline.after(60),
            )
        except errors.Error as error:
            said = error
        else:
            raise AssertionError("something was written")
        assert malformed.is_clear(str(said))
        assert malformed.is_clear(said.sentence())
        (met,) = faults.met()
        assert met <= 1 or "lets nothing" in str(said)
        written += bool(met)
        return str(said)

    try:
        malformed.tried(sources, FOLDERS[:REAL], tmp_path, outcome)
    finally:
        faults.make()

    # The others were refused before the first write.
    assert written < REAL / 2
