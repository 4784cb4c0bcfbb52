"""A token for a service account that ends by itself (TokenRequest)."""

from __future__ import annotations

import json

from tacker_k8s_cr.cluster import paths
from tacker_k8s_cr.cluster.answers import Request
from tacker_k8s_cr.cluster.connection import Connection
from tacker_k8s_cr.cluster.requests import Counter
from tacker_k8s_cr.cluster.requests import Sender
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.kubeconfig import Kubeconfig
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import Resource

_ACCOUNTS = Resource(
    "", "v1", "ServiceAccount", "serviceaccounts", True, frozenset()
)


def requested(
    kubeconfig: Kubeconfig,
    account: ObjectRef,
    seconds: int,
    deadline: Deadline,
) -> str:
    """A new token of the account. Raises a ClusterError.

    How long it lasts is for the server to say, and stands in the token.
    """
    connection = Connection(lambda: kubeconfig, verify=True, size=1)
    sender = Sender(connection, kubeconfig.server, Counter(), deadline)
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": seconds},
    }
    path = paths.member(_ACCOUNTS, account.namespace, account.name, "token")
    try:
        answer = sender.send(
            Request(
                "create",
                "POST",
                path,
                paths.spoken(_ACCOUNTS, "token"),
                account.namespace,
                account,
                json.dumps(body).encode(),
                "application/json",
            )
        )
    finally:
        connection.close()
    return str(answer.body["status"]["token"])
