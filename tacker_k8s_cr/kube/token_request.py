"""Request an expiring token of a service account (TokenRequest)."""

from __future__ import annotations

import json

from tacker_k8s_cr.kube import paths
from tacker_k8s_cr.kube.connection import Connection
from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.requests import Client
from tacker_k8s_cr.kube.http.requests import Counter
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Resource

_ACCOUNTS = Resource(
    "", "v1", "ServiceAccount", "serviceaccounts", True, frozenset()
)


def request_token(
    kubeconfig: Kubeconfig,
    account: ObjectRef,
    seconds: int,
    deadline: Deadline,
) -> str:
    """Return a new token of the account. Raises a ClusterError.

    The server determines its lifetime, which the token contains.
    """
    connection = Connection(lambda: kubeconfig, verify=True, size=1)
    sender = Client(connection, kubeconfig.server, Counter(), deadline)
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": seconds},
    }
    path = paths.object_path(
        _ACCOUNTS, account.namespace, account.name, "token"
    )
    try:
        answer = sender.send(
            Request(
                "create",
                "POST",
                path,
                paths.resource_name(_ACCOUNTS, "token"),
                account.namespace,
                account,
                json.dumps(body).encode(),
                "application/json",
            )
        )
    finally:
        connection.close()
    return str(answer.body["status"]["token"])
