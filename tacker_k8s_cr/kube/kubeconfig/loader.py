"""Load a kubeconfig from text, files or a Pod's service account.

A kubeconfig of a VIM, a request or a Secret must not run commands or refer to
files; a file that the user names may. One context is selected and the files
that it refers to are read at once, so that the value is complete. No error
contains a value of a kubeconfig.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from collections.abc import Mapping
import os
import pathlib
from typing import Any
import urllib.parse

import yaml

from tacker_k8s_cr.kube.kubeconfig.model import Kubeconfig
from tacker_k8s_cr.model.errors import KubeconfigInvalid

Reader = Callable[[str], bytes]

MOUNTED = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Directory in which a Pod has the files of its service account."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FILES = ("certificate-authority", "client-certificate", "client-key")
_REFUSED = ("exec", "auth-provider", "tokenFile", *_FILES)
_IMPERSONATION = ("as", "as-uid", "as-groups")


def _read(path: str) -> bytes:
    return pathlib.Path(path).read_bytes()


def parse(
    text: str,
    where: str,
    *,
    trusted: bool = False,
    context: str = "",
    directory: str = "",
    read: Reader = _read,
) -> Kubeconfig:
    """Return one context of a kubeconfig, by default the current one.

    :param where: the name of the text in errors.
    :param trusted: the user named the file: it may run plug-ins and read
        files.
    :param directory: the base of relative file names.
    """
    document = _document(text, where, directory)
    return _select_context(document, where, trusted, context, read)


def load(paths: str, context: str = "", read: Reader = _read) -> Kubeconfig:
    """Load files that the user named, in the form of ``KUBECONFIG``.

    Several are merged as by kubectl: the first that defines a cluster, a
    user, a context or the current context takes precedence.
    """
    merged: dict[str, Any] = {"clusters": [], "users": [], "contexts": []}
    found = []
    for path in filter(None, paths.split(os.pathsep)):
        path = os.path.expanduser(path)
        try:
            text = _text(read, path)
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise KubeconfigInvalid(
                path, _describe_read_error(error)
            ) from None
        document = _document(text, path, os.path.dirname(path))
        found.append(path)
        for part in ("clusters", "users", "contexts"):
            merged[part].extend(document.get(part) or ())
        merged["current-context"] = merged.get(
            "current-context"
        ) or document.get("current-context")
    if not found:
        raise KubeconfigInvalid(paths, "the file does not exist")
    return _select_context(merged, os.pathsep.join(found), True, context, read)


def in_cluster(
    environ: Mapping[str, str], directory: str = MOUNTED, read: Reader = _read
) -> Kubeconfig:
    """Return the kubeconfig of a Pod's service account."""
    host = environ.get("KUBERNETES_SERVICE_HOST", "")
    port = environ.get("KUBERNETES_SERVICE_PORT", "443")
    token_file = os.path.join(directory, "token")
    if not host:
        # Tried last, so the error names the more common sources.
        raise KubeconfigInvalid(
            "no kubeconfig",
            "use --kubeconfig or set KUBECONFIG (~/.kube/config does not "
            "exist, and this is not a Pod)",
        )
    try:
        ca = _text(read, os.path.join(directory, "ca.crt"))
        token = _text(read, token_file).strip()
    except (OSError, ValueError) as error:
        raise KubeconfigInvalid(
            directory, _describe_read_error(error)
        ) from None
    return Kubeconfig(
        where=directory,
        server=f"https://[{host}]:{port}"
        if ":" in host
        else f"https://{host}:{port}",
        ca=ca,
        token=token,
        token_file=token_file,
    )


def _text(read: Reader, path: str) -> str:
    return read(path).decode()


def _describe_read_error(error: Exception) -> str:
    """Return why a file could not be read, without any of its content."""
    if isinstance(error, OSError):
        return f"{error.filename or 'file'}: {error.strerror}"
    return "it is not text"


def _document(text: str, where: str, directory: str) -> dict[str, Any]:
    """Parse the text, and make its file names absolute."""
    try:
        document = yaml.load(text, Loader=_LOADER)  # noqa: S506  safe
    except (yaml.YAMLError, ValueError) as error:
        # The parser's message would contain the invalid line.
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        raise KubeconfigInvalid(where, f"it is not YAML{line}") from None
    if not isinstance(document, dict) or not document.get("clusters"):
        raise KubeconfigInvalid(where, "it is not a kubeconfig with clusters")
    for part, key in (("clusters", "cluster"), ("users", "user")):
        for item in _items_by_name(document, part, where).values():
            fields = _fields(item, key, where, part)
            for name in ("tokenFile", *_FILES):
                if isinstance(fields.get(name), str):
                    fields[name] = os.path.join(directory, fields[name])
    return document


def _items_by_name(
    document: Mapping[str, Any], part: str, where: str
) -> dict[str, Mapping[str, Any]]:
    items = document.get(part) or []
    if not isinstance(items, list) or not all(
        isinstance(item, dict) and isinstance(item.get("name"), str)
        for item in items
    ):
        raise KubeconfigInvalid(where, f"{part}: not a list of named items")
    return {item["name"]: item for item in reversed(items)}


def _fields(
    item: Mapping[str, Any], key: str, where: str, subject: str
) -> dict[str, Any]:
    fields = item.get(key) or {}
    if not isinstance(fields, dict):
        raise KubeconfigInvalid(where, f"{subject}: {key} is not a mapping")
    return fields


def _select_context(
    document: Mapping[str, Any],
    where: str,
    trusted: bool,
    context: str,
    read: Reader,
) -> Kubeconfig:
    contexts = _items_by_name(document, "contexts", where)
    name = context or document.get("current-context")
    if not name and len(contexts) == 1:
        name = next(iter(contexts))
    if name not in contexts:
        problem = (
            f"has no context {name}" if name else "names no current context"
        )
        names = ", ".join(sorted(contexts)) or "none"
        raise KubeconfigInvalid(where, f"{problem}; its contexts are: {names}")
    context_fields = _fields(
        contexts[name], "context", where, f"context {name}"
    )
    selected = {}
    for part, key in (("clusters", "cluster"), ("users", "user")):
        items = _items_by_name(document, part, where)
        item = items.get(context_fields.get(key) or "")
        if item is None and (key == "cluster" or context_fields.get(key)):
            raise KubeconfigInvalid(
                where,
                f"context {name}: there is no {key} {context_fields.get(key)}",
            )
        subject = f"{key} {context_fields.get(key)}"
        fields = _fields(item or {}, key, where, subject)
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
            return _text(self.read, path) if path else ""
        except (OSError, ValueError) as error:
            raise self.error(
                f"{name}: {_describe_read_error(error)}"
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


def for_server(
    server: str,
    *,
    token: str = "",
    ca: str = "",
    client_certificate: str = "",
    client_key: str = "",
) -> Kubeconfig:
    """Return a kubeconfig for a URL and a token or a client certificate.

    Certificates and keys are PEM.
    """
    return Kubeconfig(
        where=server,
        server=server_url(server),
        token=token,
        ca=ca,
        client_certificate=client_certificate,
        client_key=client_key,
    )
