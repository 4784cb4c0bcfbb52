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
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.wait.progress import Goal
from tests.faults import lifecycles
from tests.faults import webhook_server

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
            # It is a child of this process; then its port is free.
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
    "delete": lambda operation, progress: progress.goal is Goal.DELETED,
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_server_that_is_killed_comes_back(
    moment, fault_plane, direct_cluster, two_namespaces, table
):
    """In the middle of each; operations go on where they were."""

    @contextlib.contextmanager
    def disturb(operation):
        killing = Killing(fault_plane, MOMENTS[moment])
        yield lifecycles.FaultyConnection(direct_cluster, killing)
        killing.over()
        meant = (
            moment != "delete"
            if operation != "terminate"
            else (moment == "delete")
        )
        assert killing.killed or not meant

    outcome = lifecycles.run_lifecycles(
        f"API server killed during {moment}",
        direct_cluster,
        two_namespaces,
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
    made = webhook_server.WebhookServer(tmp_path)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def interrupted_server(hook, direct_cluster):
    """No process listens for the first 20 seconds of each operation."""

    @contextlib.contextmanager
    def disturb(operation):
        hook.stop()
        timer = threading.Timer(AWAY, hook.start)
        timer.start()
        try:
            yield lifecycles.FaultyConnection(direct_cluster)
        finally:
            timer.join()

    return disturb


@pytest.mark.requirement("P5")
def test_an_unreachable_admission_webhook(
    hook, interrupted_server, direct_cluster, two_namespaces, table
):
    """What it must admit is tried until it is back."""
    name = f"f{uuid.uuid4().hex[:8]}"
    configuration = webhook_server.admit(name, two_namespaces, hook)
    limited = direct_cluster.with_deadline(k8s_cr.Deadline.after(300))
    made = limited.create(configuration, "tests")
    try:
        outcome = lifecycles.run_lifecycles(
            "admission webhook down for 20 s",
            direct_cluster,
            two_namespaces,
            interrupted_server,
        )
    finally:
        ref = k8s_cr.ObjectRef.of(made)
        limited.delete(ref, made["metadata"]["uid"])

    table.append(outcome.row)
    assert outcome.good, outcome
    assert outcome.tried == outcome.finished, outcome


@pytest.mark.requirement("P5")
def test_an_unreachable_conversion_webhook(
    hook, interrupted_server, direct_cluster, two_namespaces, table
):
    """Neither can its objects be read until it is back."""

    def alter(manifest):
        if manifest["kind"] != "CustomResourceDefinition":
            return manifest
        return webhook_server.convert(manifest, hook)

    outcome = lifecycles.run_lifecycles(
        "conversion webhook down for 20 s",
        direct_cluster,
        two_namespaces,
        interrupted_server,
        alter=alter,
    )

    table.append(outcome.row)
    assert outcome.good, outcome
    assert outcome.tried == outcome.finished, outcome


# -- Credentials --------------------------------------------------------------


def test_a_token_that_ends_during_the_wait(
    faults, fault_plane, direct_cluster, two_namespaces, table, tmp_path
):
    """It is read once more from its file, and all goes on."""
    name = f"f{uuid.uuid4().hex[:8]}"
    kubectl = fault_plane.kubectl
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
            faults.set_rules(
                {
                    "fault": "answer",
                    "token": old,
                    "code": 401,
                    "body": UNAUTHORIZED,
                }
            )

        def listen(operation, progress):
            if progress.unsettled and once.acquire(blocking=False):
                # Done by another process, as the search for secrets in our
                # files has to see.
                other = threading.Thread(target=end)
                other.start()
                other.join()

        try:
            yield lifecycles.FaultyConnection(cluster, listen)
            (met,) = faults.count_matches()
            refused.append(met)
        finally:
            faults.set_rules()
            cluster.close()

    outcome = lifecycles.run_lifecycles(
        "token that ends during the wait",
        direct_cluster,
        two_namespaces,
        disturb,
    )
    kubectl("delete", "clusterrolebinding", name)

    table.append(outcome.row)
    assert outcome.good, outcome
    assert outcome.tried == outcome.finished, outcome
    # Whatever was on its way with it is refused, and nothing after that.
    assert all(0 < met <= MOST for met in refused), refused
