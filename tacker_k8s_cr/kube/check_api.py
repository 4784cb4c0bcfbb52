"""Whether the server of a kubeconfig answers, and takes its credential."""

from __future__ import annotations

from tacker_k8s_cr.kube.connection import Connection
from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.requests import Client
from tacker_k8s_cr.kube.http.requests import Counter
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.model.deadline import Deadline

_PATH = "/api"
"""What every API server has, and every authenticated user may read."""


def check(kubeconfig: Kubeconfig, deadline: Deadline) -> None:
    """Ask until it answers or time is up. Raises a ClusterError.

    A certificate that is not trusted and a credential that is refused end
    it at once.
    """
    connection = Connection(lambda: kubeconfig, verify=True, size=1)
    sender = Client(
        connection, kubeconfig.server, Counter(), deadline, lasting=True
    )
    try:
        sender.send(Request("get", "GET", _PATH, _PATH))
    finally:
        connection.close()
