"""One context of a kubeconfig as a value."""

from __future__ import annotations

import base64
from collections.abc import Mapping
import dataclasses
import datetime
import hashlib
import json
from typing import Any

import yaml

from tacker_k8s_cr.kube.kubeconfig import jwt
from tacker_k8s_cr.model.errors import KubeconfigInvalid


@dataclasses.dataclass(frozen=True, repr=False)
class OidcUser:
    """A user of an OpenID provider that issues tokens for a password.

    :param url: the provider's token endpoint.
    :param ca: PEM with the only trusted certificates; by default those of the
        kubeconfig and of the system.
    """

    url: str
    username: str
    password: str
    client_id: str
    client_secret: str = ""
    scope: str = "openid"
    ca: str = ""

    def __repr__(self) -> str:
        return f"<OpenId {self.url}>"


@dataclasses.dataclass(frozen=True, repr=False)
class Kubeconfig:
    """A server, its trusted certificates, and the credential of the user.

    Certificates and keys are PEM. ``exec_plugin``, ``auth_provider`` and
    ``token_file`` are only set when the user named the file; ``token`` is then
    the content of the token file when the kubeconfig was read. ``openid`` is
    never set by a document.
    """

    where: str
    server: str
    context: str = "default"
    cluster_name: str = "default"
    user_name: str = "default"
    namespace: str = ""
    ca: str = ""
    tls_server_name: str = ""
    proxy: str = ""
    insecure: bool = False
    client_certificate: str = ""
    client_key: str = ""
    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    impersonate: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    exec_plugin: Mapping[str, Any] | None = None
    auth_provider: Mapping[str, Any] | None = None
    openid: OidcUser | None = None

    def __repr__(self) -> str:
        return f"<Kubeconfig {self.where}, context {self.context}>"

    @property
    def credential_kind(self) -> str:
        """The kind of credential that authenticates to the server."""
        kinds = {
            "openid": self.openid,
            "exec": self.exec_plugin,
            "auth-provider": self.auth_provider,
            "token": self.token,
            "basic": self.username,
            "client certificate": self.client_certificate,
        }
        return next((kind for kind, has in kinds.items() if has), "none")

    @property
    def expires(self) -> datetime.datetime | None:
        """When the credential expires; None if it does not contain that."""
        if self.credential_kind == "token":
            return jwt.expiry(self.token)
        if self.credential_kind == "client certificate":
            return _certificate_expiry(self.client_certificate, self.where)
        return None

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the content; names and order make no difference."""
        content = self._mapping("", "", "")
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def portable(self) -> Kubeconfig:
        """Return a kubeconfig that runs no command and reads no file."""
        if self.credential_kind in ("openid", "exec", "auth-provider"):
            raise KubeconfigInvalid(
                self.where,
                f"user {self.user_name}: a credential by "
                f"{self.credential_kind} cannot be passed on",
            )
        return dataclasses.replace(self, token_file="")

    def to_dict(self) -> dict[str, Any]:
        """Return a document with one context, which is the current one."""
        return self._mapping(self.context, self.cluster_name, self.user_name)

    def to_yaml(self) -> str:
        return str(yaml.safe_dump(self.to_dict(), sort_keys=False))

    def _mapping(
        self, context: str, cluster: str, user: str
    ) -> dict[str, Any]:
        server = {
            "server": self.server,
            "certificate-authority-data": _base64(self.ca),
            "tls-server-name": self.tls_server_name,
            "proxy-url": self.proxy,
            "insecure-skip-tls-verify": self.insecure,
        }
        credential = {
            "client-certificate-data": _base64(self.client_certificate),
            "client-key-data": _base64(self.client_key),
            "token": "" if self.token_file else self.token,
            "tokenFile": self.token_file,
            "username": self.username,
            "password": self.password,
            "exec": self.exec_plugin,
            "auth-provider": self.auth_provider,
            **self.impersonate,
        }
        place = {
            "cluster": cluster,
            "user": user,
            "namespace": self.namespace,
        }
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": _without_empty(server)}],
            "users": [{"name": user, "user": _without_empty(credential)}],
            "contexts": [{"name": context, "context": _without_empty(place)}],
            "current-context": context,
        }


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _certificate_expiry(pem: str, where: str) -> datetime.datetime:
    # Imported here since the import is slow.
    from cryptography import x509

    try:
        certificate = x509.load_pem_x509_certificate(pem.encode())
    except ValueError:
        raise KubeconfigInvalid(
            where, "the client certificate cannot be read"
        ) from None
    return certificate.not_valid_after_utc
