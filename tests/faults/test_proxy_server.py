"""An API server that is away for a while, or what it asks is."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import uuid

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kubeconfig import Kubeconfig
from tacker_k8s_cr.progress import Goal
from tests.faults import hooks
from tests.faults import lives

pytestmark = pytest.mark.plane

AWAY = 20.0
MOST = 40
"""Requests and streams of two operations that are open at one time."""

UNAUTHORIZED = json.dumps(
    {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }
)
SERVER = "kube-apiserver"


class Killing:
    """Kills the API server once, when an operation has come far enough."""

    def __init__(self, plane, when):
        self._plane = plane
        self._when = when
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self.killed = 0

    def __call__(self, operation, progress):
        with self._lock:
            if self.killed or not self._when(operation, progress):
                return
            self.killed += 1
            identity = self._plane.records[SERVER]
            os.kill(identity.pid, signal.SIGKILL)
            # It is a child of ours; then its port is free.
            os.waitpid(identity.pid, 0)
            thread = threading.Thread(
                target=self._plane.start, args=[[SERVER]]
            )
            thread.start()
            self._threads.append(thread)

    def over(self):
        for thread in self._threads:
            thread.join()


MOMENTS = {
    "apply": lambda operation, progress: (
        operation != "terminate" and not progress.awaited
    ),
    "wait": lambda operation, progress: (
        operation != "terminate"
        and any(ref.kind == "Widget" for ref in progress.unsettled)
    ),
    "delete": lambda operation, progress: progress.goal is Goal.GONE,
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_server_that_is_killed_comes_back(
    moment, own_plane, straight, own_namespaces, table
):
    """In the middle of each; operations go on where they were (P5)."""

    @contextlib.contextmanager
    def disturb(operation):
        killing = Killing(own_plane, MOMENTS[moment])
        yield lives.Disturbed(straight, killing)
        killing.over()
        meant = (
            moment != "delete"
            if operation != "terminate"
            else (moment == "delete")
        )
        assert killing.killed or not meant

    outcome = lives.led(
        f"API server killed during {moment}",
        straight,
        own_namespaces,
        disturb,
        size="slow",
    )

    table.append(outcome.row)
    assert outcome.good, outcome
    assert outcome.tried == outcome.finished, outcome


# -- Webhooks -----------------------------------------------------------------


@pytest.fixture
def hook(tmp_path):
    """A webhook that listens."""
    made = hooks.Hook(tmp_path)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def away(hook, straight):
    """Nobody listens for the first 20 seconds of each operation."""

    @contextlib.contextmanager
    def disturb(operation):
        hook.stop()
        timer = threading.Timer(AWAY, hook.start)
        timer.start()
        try:
            yield lives.Disturbed(straight)
        finally:
            timer.join()

    return disturb


def test_an_admission_webhook_that_is_away(
    hook, away, straight, own_namespaces, table
):
    """What it must admit is tried until it is back (P5)."""
    name = f"f{uuid.uuid4().hex[:8]}"
    configuration = hooks.admission(name, own_namespaces, hook)
    limited = straight.until(k8s_cr.Deadline.after(300))
    made = limited.create(configuration, "tests")
    try:
        outcome = lives.led(
            "admission webhook down for 20 s", straight, own_namespaces, away
        )
    finally:
        ref = k8s_cr.ObjectRef.of(made)
        limited.delete(ref, made["metadata"]["uid"])

    table.append(outcome.row)
    assert outcome.good, outcome
    assert outcome.tried == outcome.finished, outcome


def test_a_conversion_webhook_that_is_away(
    hook, away, straight, own_namespaces, table
):
    """Neither can its objects be read until it is back (P5)."""

    def alter(manifest):
        if manifest["kind"] != "CustomResourceDefinition":
            return manifest
        return hooks.converted(manifest, hook)

    outcome = lives.led(
        "conversion webhook down for 20 s",
        straight,
        own_namespaces,
        away,
        alter=alter,
    )

    table.append(outcome.row)
    assert outcome.good, outcome
    assert outcome.tried == outcome.finished, outcome


# -- Credentials --------------------------------------------------------------


def test_a_token_that_ends_during_the_wait(
    faults, own_plane, straight, own_namespaces, table, tmp_path
):
    """It is read once more from its file, and all goes on (P25)."""
    name = f"f{uuid.uuid4().hex[:8]}"
    kubectl = own_plane.kubectl
    kubectl("create", "serviceaccount", name)
    kubectl(
        "create",
        "clusterrolebinding",
        name,
        "--clusterrole=cluster-admin",
        f"--serviceaccount=default:{name}",
    )
    path = tmp_path / "token"
    kubeconfig = Kubeconfig(
        where="test", server=faults.url, ca=faults.ca, token_file=str(path)
    )
    refused = []

    @contextlib.contextmanager
    def disturb(operation):
        old = kubectl("create", "token", name).strip()
        path.write_text(old)
        cluster = k8s_cr.connect(kubeconfig)
        once = threading.Lock()

        def end():
            path.write_text(kubectl("create", "token", name).strip())
            faults.make(
                {
                    "fault": "answer",
                    "token": old,
                    "code": 401,
                    "body": UNAUTHORIZED,
                }
            )

        def listen(operation, progress):
            if progress.unsettled and once.acquire(blocking=False):
                # Somebody else's doing, as whoever looks for secrets in
                # files that we write can see.
                other = threading.Thread(target=end)
                other.start()
                other.join()

        try:
            yield lives.Disturbed(cluster, listen)
            (met,) = faults.met()
            refused.append(met)
        finally:
            faults.make()
            cluster.close()

    outcome = lives.led(
        "token that ends during the wait", straight, own_namespaces, disturb
    )
    kubectl("delete", "clusterrolebinding", name)

    table.append(outcome.row)
    assert outcome.good, outcome
    assert outcome.tried == outcome.finished, outcome
    # Whatever was on its way with it is refused, and nothing after that.
    assert all(0 < met <= MOST for met in refused), refused
