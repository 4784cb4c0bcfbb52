"""Whether the server of a kubeconfig answers, and takes its credential."""

from __future__ import annotations

from tacker_k8s_cr.cluster.answers import Request
from tacker_k8s_cr.cluster.connection import Connection
from tacker_k8s_cr.cluster.requests import Counter
from tacker_k8s_cr.cluster.requests import Sender
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.kubeconfig import Kubeconfig

_PATH = "/api"
"""What every API server has, and every authenticated user may read."""


def probe(kubeconfig: Kubeconfig, deadline: Deadline) -> None:
    """Ask until it answers or time is up. Raises a ClusterError.

    A certificate that is not trusted and a credential that is refused end
    it at once.
    """
    connection = Connection(lambda: kubeconfig, verify=True, size=1)
    sender = Sender(
        connection, kubeconfig.server, Counter(), deadline, lasting=True
    )
    try:
        sender.send(Request("get", "GET", _PATH, _PATH))
    finally:
        connection.close()
