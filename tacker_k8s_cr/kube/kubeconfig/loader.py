"""Load a kubeconfig from text, files or a Pod's service account.

A kubeconfig of a VIM, a request or a Secret must not run commands or refer to
files; a file that the user names may. One context is selected and the files
that it refers to are read at once, so that the value is complete. No error
contains a value of a kubeconfig.
"""

from __future__ import annotations

from collections.abc import Mapping
import os
import pathlib
from typing import Any

from tacker_k8s_cr.kube.kubeconfig import parse_document
from tacker_k8s_cr.kube.kubeconfig import select_context
from tacker_k8s_cr.kube.kubeconfig.model import Kubeconfig
from tacker_k8s_cr.kube.kubeconfig.parse_document import Reader
from tacker_k8s_cr.model.errors import KubeconfigInvalid

MOUNTED = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Directory in which a Pod has the files of its service account."""


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
    document = parse_document.parse_document(text, where, directory)
    return select_context.select_context(
        document, where, trusted, context, read
    )


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
            text = parse_document.read_text(read, path)
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise KubeconfigInvalid(
                path, parse_document.describe_read_error(error)
            ) from None
        document = parse_document.parse_document(
            text, path, os.path.dirname(path)
        )
        found.append(path)
        for part in ("clusters", "users", "contexts"):
            merged[part].extend(document.get(part) or ())
        merged["current-context"] = merged.get(
            "current-context"
        ) or document.get("current-context")
    if not found:
        raise KubeconfigInvalid(paths, "the file does not exist")
    return select_context.select_context(
        merged, os.pathsep.join(found), True, context, read
    )


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
        ca = parse_document.read_text(read, os.path.join(directory, "ca.crt"))
        token = parse_document.read_text(read, token_file).strip()
    except (OSError, ValueError) as error:
        raise KubeconfigInvalid(
            directory, parse_document.describe_read_error(error)
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
        server=select_context.server_url(server),
        token=token,
        ca=ca,
        client_certificate=client_certificate,
        client_key=client_key,
    )
