"""Who may speak to the plane's API server, and what shows it."""

from __future__ import annotations

import base64
import csv
import datetime
import io
import pathlib
import secrets

import yaml

from tools.plane import certificates
from tools.plane.certificates import CertificateRequest
from tools.plane.folders import Folders
from tools.plane.folders import write_private

API_PORT = 16443
"""Of the API server; of the balancer where there are several."""
API_SERVERS = 16451
"""Of the first of several API servers."""
SERVICE_ADDRESS = "10.96.0.1"
NODE_ADDRESS = "10.245.0.1"
"""Of the bridge that a real node has; its pods reach the server there."""
NODE_NAME = "real-0"

SERVERS = {
    "apiserver": CertificateRequest(
        "kube-apiserver",
        names=(
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "127.0.0.1",
            SERVICE_ADDRESS,
            NODE_ADDRESS,
        ),
    ),
    # The folder and the file names are those that controller-runtime reads.
    "local/tls": CertificateRequest("local", names=("localhost", "127.0.0.1")),
    "kubelet-server": CertificateRequest(
        "kubelet", names=(NODE_NAME, NODE_ADDRESS)
    ),
}
CLIENTS = {
    "admin": CertificateRequest("admin", group="system:masters"),
    "controller-manager": CertificateRequest("system:kube-controller-manager"),
    "scheduler": CertificateRequest("system:kube-scheduler"),
    "apiserver-kubelet-client": CertificateRequest(
        "kube-apiserver-kubelet-client", group="system:masters"
    ),
    "kubelet": CertificateRequest(
        f"system:node:{NODE_NAME}", group="system:nodes"
    ),
    "kube-proxy": CertificateRequest("system:kube-proxy"),
}
CONTROLLERS = frozenset(("controller-manager", "scheduler"))
TOKEN_USERS = {"admin-token": "system:masters", "plain-token": "plain"}
"""Users with a static bearer token, and the group of each."""


def server(folders: Folders) -> str:
    """The API server's URL; that of the balancer where there are several."""
    return f"https://127.0.0.1:{API_PORT + folders.shift}"


def one_server(folders: Folders, number: int = 0) -> str:
    """The URL of one of several API servers; of the only one else."""
    if folders.servers == 1:
        return server(folders)
    return f"https://127.0.0.1:{API_SERVERS + folders.shift + number}"


def ensure(folders: Folders) -> None:
    """Create what does not exist yet, or expires soon."""
    now = datetime.datetime.now(datetime.timezone.utc)
    if certificates.is_fresh(folders.pki, now):
        return
    certificates.make(folders.pki, SERVERS, CLIENTS, now)
    for name in CLIENTS:
        # Controllers use the API server of their own node.
        url = one_server(folders) if name in CONTROLLERS else server(folders)
        path = kubeconfig_path(folders, name)
        write_private(path, kubeconfig(folders, name, url).encode())
    for number in range(folders.servers):
        path = server_kubeconfig(folders, number)
        url = one_server(folders, number)
        write_private(path, kubeconfig(folders, "admin", url).encode())
    write_private(folders.tokens, tokens().encode())


def server_kubeconfig(folders: Folders, number: int = 0) -> pathlib.Path:
    """The administrator's for one API server, without the balancer."""
    if folders.servers == 1:
        return folders.kubeconfig
    return folders.run / f"kube-apiserver-{number + 1}.kubeconfig"


def kubeconfig_path(folders: Folders, client: str) -> pathlib.Path:
    if client == "admin":
        return folders.kubeconfig
    return folders.pki / f"{client}.kubeconfig"


def kubeconfig(folders: Folders, client: str, url: str) -> str:
    """One cluster, one user, one context, and no reference to a file."""

    def encoded(name: str) -> str:
        return base64.b64encode((folders.pki / name).read_bytes()).decode()

    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "plane",
            "clusters": [
                {
                    "name": "plane",
                    "cluster": {
                        "server": url,
                        "certificate-authority-data": encoded("ca.crt"),
                    },
                }
            ],
            "users": [
                {
                    "name": client,
                    "user": {
                        "client-certificate-data": encoded(f"{client}.crt"),
                        "client-key-data": encoded(f"{client}.key"),
                    },
                }
            ],
            "contexts": [
                {
                    "name": "plane",
                    "context": {"cluster": "plane", "user": client},
                }
            ],
        },
        sort_keys=False,
    )


def tokens() -> str:
    """Lines of token, user, uid and groups, with new tokens."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    for number, (user, group) in enumerate(TOKEN_USERS.items(), start=1):
        writer.writerow([secrets.token_urlsafe(32), user, number, group])
    return lines.getvalue()


def token(folders: Folders, user: str) -> str:
    """The bearer token of a user of the running plane."""
    with open(folders.tokens, newline="") as lines:
        for value, name, *_ in csv.reader(lines):
            if name == user:
                return value
    raise KeyError(user)
