"""An OpenID provider with the address and the messages of a Keycloak.

The tokens are those of ``tools.identity``. A server in front of it has the
path of Keycloak's token endpoint and, for a wrong client secret, its answer:
one test compares that answer, which Tacker repeats.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import http.server
import json
import pathlib
import ssl
import threading
from typing import Any

import requests

from tacker_k8s_cr.kube.kubeconfig import jwt
from tools.identity import Provider
from tools.plane import certificates
from tools.plane.folders import write_private
from tools.upstream.cluster import Cluster
from tools.upstream.errors import UpstreamError

PATH = "/realms/oidc/protocol/openid-connect/token"
PREFIX = "oidc:"
"""Of the names of users in the cluster."""

ANSWERS = {
    "invalid_client": {
        "error": "unauthorized_client",
        "error_description": "Invalid client secret",
    }
}
"""By the error of the provider, what Keycloak answers."""


@dataclasses.dataclass(frozen=True)
class OpenId:
    """A provider that runs.

    :param url: of its token endpoint.
    :param ca: vouches for that URL, in PEM.
    """

    provider: Provider
    url: str
    ca: str

    @property
    def trusted(self) -> dict[str, object]:
        """The AuthenticationConfiguration of an API server."""
        return {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "AuthenticationConfiguration",
            "jwt": [
                {
                    "issuer": {
                        "url": self.provider.issuer,
                        "audiences": [self.provider.user.client],
                        "certificateAuthority": self.provider.ca,
                    },
                    "claimMappings": {
                        "username": {"claim": "sub", "prefix": PREFIX}
                    },
                }
            ],
        }

    def vim(self, cluster: Cluster) -> dict[str, Any]:
        """The cluster as a VIM, in the form of the tests' files."""
        user = self.provider.user
        return {
            "auth_url": cluster.server,
            "project_name": "default",
            "oidc_token_url": self.url,
            "username": user.name,
            "password": user.password,
            "client_id": user.client,
            "client_secret": user.secret,
            "ssl_ca_cert": cluster.ca + self.ca,
            "type": "kubernetes",
        }

    def allow(self, cluster: Cluster) -> None:
        """Make the provider's user an administrator of the cluster."""
        user = self.provider.user
        answer = requests.post(
            self.provider.url,
            data={
                "grant_type": "password",
                "scope": "openid",
                "username": user.name,
                "password": user.password,
            },
            auth=(user.client, user.secret),
            verify=str(self.provider.ca_file),
            timeout=30,
        )
        if not answer.ok:
            raise UpstreamError(
                f"the OpenID provider gives no token: {answer.status_code} "
                f"{answer.json().get('error')}"
            )
        subject = jwt.subject(answer.json()["id_token"])
        cluster.kubectl(
            *("create", "clusterrolebinding", "openid"),
            "--clusterrole=cluster-admin",
            f"--user={PREFIX}{subject}",
        )


@contextlib.contextmanager
def start(folder: pathlib.Path) -> Iterator[OpenId]:
    """The provider, as long as the context is entered."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with Provider(folder) as provider:
        own = certificates.create_server_certificate("upstream-openid")
        certificate = folder / "front.pem"
        write_private(certificate, own.certificate + own.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server = Front(("127.0.0.1", 0), provider)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            url = f"https://127.0.0.1:{server.server_address[1]}{PATH}"
            yield OpenId(provider, url, own.ca.decode())
        finally:
            server.shutdown()
            server.server_close()


class Front(http.server.ThreadingHTTPServer):
    """Passes requests for tokens on to the provider."""

    def __init__(self, address: tuple[str, int], provider: Provider):
        super().__init__(address, _Handler)
        self.provider = provider


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Front

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != PATH:
            self.send_error(404)
            return
        provider = self.server.provider
        passed = ("Content-Type", "Authorization")
        answer = requests.post(
            provider.url,
            data=body,
            headers={k: v for k, v in self.headers.items() if k in passed},
            verify=str(provider.ca_file),
            timeout=30,
        )
        content = translated(answer.content)
        self.send_response(answer.status_code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing: a line would hold no news."""


def translated(content: bytes) -> bytes:
    """An answer of the provider, with Keycloak's messages if they differ."""
    try:
        said = json.loads(content)
    except ValueError:
        return content
    error = said.get("error") if isinstance(said, dict) else None
    if error not in ANSWERS:
        return content
    return json.dumps(ANSWERS[error], separators=(",", ":")).encode()
