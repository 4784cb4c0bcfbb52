"""Check that the server of a kubeconfig accepts its credential."""

from __future__ import annotations

from tacker_k8s_cr.kube.connection import Connection
from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.requests import Client
from tacker_k8s_cr.kube.http.requests import Counter
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.model.deadline import Deadline

_PATH = "/api"
"""A path of every API server that every authenticated user may read."""


def check(kubeconfig: Kubeconfig, deadline: Deadline) -> None:
    """Retry until it answers or the deadline passes. Raises a ClusterError.

    An untrusted certificate and a refused credential are not retried.
    """
    connection = Connection(lambda: kubeconfig, verify=True, size=1)
    sender = Client(
        connection,
        kubeconfig.server,
        Counter(),
        deadline,
        retry_until_deadline=True,
    )
    try:
        sender.send(Request("get", "GET", _PATH, _PATH))
    finally:
        connection.close()
