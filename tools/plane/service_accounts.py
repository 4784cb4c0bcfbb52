"""A ServiceAccount with all permissions, for as long as a test needs it."""

from __future__ import annotations

import base64
from collections.abc import Iterator
import contextlib
import dataclasses

from tools.plane.kubectl import Kubectl

_ACCOUNT = "vnfm"


@dataclasses.dataclass(frozen=True)
class Administrator:
    """How a ServiceAccount with the role cluster-admin reaches its cluster.

    :param server: the URL of the API server.
    :param ca: vouches for it, in PEM; empty if the kubeconfig has none.
    """

    server: str
    ca: str
    token: str = dataclasses.field(repr=False)


@contextlib.contextmanager
def create_administrator(
    kubectl: Kubectl, name: str
) -> Iterator[Administrator]:
    """Create one in the cluster of kubectl; delete it on exit.

    :param name: of its namespace and of its ClusterRoleBinding.
    """
    kubectl("create", "namespace", name)
    try:
        kubectl("create", "serviceaccount", _ACCOUNT, "-n", name)
        kubectl(
            *("create", "clusterrolebinding", name),
            "--clusterrole=cluster-admin",
            f"--serviceaccount={name}:{_ACCOUNT}",
        )
        token = kubectl(
            *("create", "token", _ACCOUNT, "-n", name, "--duration=24h")
        )
        view = kubectl.json("config", "view", "--raw", "--minify", "--flatten")
        cluster = view["clusters"][0]["cluster"]
        authority = cluster.get("certificate-authority-data", "")
        yield Administrator(
            cluster["server"],
            base64.b64decode(authority).decode(),
            token.strip(),
        )
    finally:
        kubectl(
            "delete", "clusterrolebinding", name, "--ignore-not-found=true"
        )
        kubectl("delete", "namespace", name, "--wait=false")
