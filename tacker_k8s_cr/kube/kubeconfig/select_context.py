"""Select one context of a kubeconfig, and check its fields."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
import urllib.parse

from tacker_k8s_cr.kube.kubeconfig import parse_document
from tacker_k8s_cr.kube.kubeconfig.model import Kubeconfig
from tacker_k8s_cr.kube.kubeconfig.parse_document import Reader
from tacker_k8s_cr.model.errors import KubeconfigInvalid

_REFUSED = ("exec", "auth-provider", "tokenFile", *parse_document.FILES)

_IMPERSONATION = ("as", "as-uid", "as-groups")


def select_context(
    document: Mapping[str, Any],
    where: str,
    trusted: bool,
    context: str,
    read: Reader,
) -> Kubeconfig:
    """Return the kubeconfig with this context, by default the current one.

    Only one that is trusted may run commands or refer to files.
    """
    contexts = parse_document.items_by_name(document, "contexts", where)
    name = context or document.get("current-context")
    if not name and len(contexts) == 1:
        name = next(iter(contexts))
    if name not in contexts:
        problem = (
            f"has no context {name}" if name else "names no current context"
        )
        names = ", ".join(sorted(contexts)) or "none"
        raise KubeconfigInvalid(where, f"{problem}; its contexts are: {names}")
    context_fields = parse_document.fields_of(
        contexts[name], "context", where, f"context {name}"
    )
    selected = {}
    for part, key in (("clusters", "cluster"), ("users", "user")):
        items = parse_document.items_by_name(document, part, where)
        item = items.get(context_fields.get(key) or "")
        if item is None and (key == "cluster" or context_fields.get(key)):
            raise KubeconfigInvalid(
                where,
                f"context {name}: there is no {key} {context_fields.get(key)}",
            )
        subject = f"{key} {context_fields.get(key)}"
        fields = parse_document.fields_of(item or {}, key, where, subject)
        selected[key] = _Fields(fields, where, subject, trusted, read)
    return _kubeconfig(
        name, context_fields, selected["cluster"], selected["user"]
    )


class _Fields:
    """Fields of a cluster or user, with checks of their types."""

    def __init__(
        self,
        fields: Mapping[str, Any],
        where: str,
        subject: str,
        trusted: bool,
        read: Reader,
    ):
        self.fields = fields
        self.where = where
        self.subject = subject
        self.read = read
        refused = [name for name in _REFUSED if fields.get(name)]
        if refused and not trusted:
            raise self.error(
                f"{', '.join(refused)}: only a kubeconfig file that the user "
                "names may run commands or refer to files"
            )

    def error(self, why: str) -> KubeconfigInvalid:
        return KubeconfigInvalid(self.where, f"{self.subject}: {why}")

    def text(self, name: str) -> str:
        value = self.fields.get(name) or ""
        if not isinstance(value, str):
            raise self.error(f"{name} is not text")
        return value

    def mapping(self, name: str) -> Mapping[str, Any] | None:
        value = self.fields.get(name)
        if value is not None and not isinstance(value, dict):
            raise self.error(f"{name} is not a mapping")
        return value

    def file(self, name: str) -> str:
        path = self.text(name)
        try:
            return parse_document.read_text(self.read, path) if path else ""
        except (OSError, ValueError) as error:
            raise self.error(
                f"{name}: {parse_document.describe_read_error(error)}"
            ) from None

    def pem(self, name: str) -> str:
        """Return the field with the data, or the content of the file."""
        data = self.text(f"{name}-data")
        if not data:
            return self.file(name)
        try:
            text = base64.b64decode(data).decode()
        except ValueError:
            text = ""
        if "-----BEGIN " not in text:
            raise self.error(f"{name}-data is not PEM in base64")
        return text


def _kubeconfig(
    context: str,
    context_fields: Mapping[str, Any],
    cluster: _Fields,
    user: _Fields,
) -> Kubeconfig:
    if user.fields.get("as-user-extra"):
        raise user.error("as-user-extra is not supported")
    return Kubeconfig(
        where=cluster.where,
        server=server_url(cluster.text("server"), cluster.where),
        context=context,
        cluster_name=context_fields.get("cluster") or "",
        user_name=context_fields.get("user") or "",
        namespace=context_fields.get("namespace") or "",
        ca=cluster.pem("certificate-authority"),
        tls_server_name=cluster.text("tls-server-name"),
        proxy=cluster.text("proxy-url"),
        insecure=cluster.fields.get("insecure-skip-tls-verify") is True,
        client_certificate=user.pem("client-certificate"),
        client_key=user.pem("client-key"),
        token=user.file("tokenFile").strip() or user.text("token"),
        token_file=user.text("tokenFile"),
        username=user.text("username"),
        password=user.text("password"),
        impersonate=_impersonation(user),
        exec_plugin=user.mapping("exec"),
        auth_provider=user.mapping("auth-provider"),
    )


def _impersonation(user: _Fields) -> dict[str, Any]:
    return {
        name: user.fields[name]
        for name in _IMPERSONATION
        if user.fields.get(name)
    }


def server_url(text: str, where: str = "server") -> str:
    """Return a server's URL without user information, which is never sent."""
    try:
        parts = urllib.parse.urlsplit(text)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise KubeconfigInvalid(where, "server is not a URL") from None
    if parts.scheme not in ("https", "http") or not parts.hostname:
        why = "server is not an https or http URL"
        raise KubeconfigInvalid(where, why)
    host = parts.hostname
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"
