"""The only package that speaks to a kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import functools
import logging
import os
from typing import TYPE_CHECKING

from tacker_k8s_cr import kubeconfig as kubeconfigs
from tacker_k8s_cr.kubeconfig import Kubeconfig

if TYPE_CHECKING:
    from tacker_k8s_cr.cluster.contact import Contact
    from tacker_k8s_cr.cluster.protocol import Cluster

LOG = logging.getLogger(__name__)

_WARNED: set[str] = set()
"""Servers of which was said what is not safe about them."""

_CERTIFICATE = "client certificate"
"""The kind of credential that nothing is sent of without TLS."""


def connect(
    kubeconfig: Kubeconfig | str | os.PathLike[str] | None = None,
    context: str | None = None,
    *,
    server: str = "",
    token: str = "",
    ca: str = "",
    client_certificate: str = "",
    client_key: str = "",
    verify: bool = True,
    pool: int = 16,
    contact: Contact | None = None,
) -> Cluster:
    """A cluster to work on. Nothing is sent yet.

    Without a kubeconfig and a server: what ``KUBECONFIG`` names, else
    ``~/.kube/config``, else the service account of the pod we run in.

    :param kubeconfig: a value, or the path of a file that a person named
        (several, as in ``KUBECONFIG``).
    :param context: another than the current one of the file.
    :param server: a URL, in the place of a kubeconfig; with a token or a
        client certificate. Certificates and keys are PEM.
    :param verify: False trusts any server that answers.
    :param pool: requests at the same time.
    :param contact: limits for interactive use, which apply until the server
        has answered once.
    """
    # The Kubernetes client takes a while to import; a command line that
    # only shows its help does without it.
    from tacker_k8s_cr.cluster.processes import Processes
    from tacker_k8s_cr.cluster.server import ApiServer

    if isinstance(kubeconfig, Kubeconfig):
        source = functools.partial(_itself, kubeconfig)
    elif server:
        given = Kubeconfig(
            where=server,
            server=kubeconfigs.server_url(server),
            token=token,
            ca=ca,
            client_certificate=client_certificate,
            client_key=client_key,
        )
        source = functools.partial(_itself, given)
    else:
        source = _source(kubeconfig, context or "")
    first = source()
    _warn(first, verify)
    return ApiServer(Processes(source, verify, pool), first.server, contact)


@contextlib.contextmanager
def shared(kubeconfig: Kubeconfig, pool: int = 16) -> Iterator[Cluster]:
    """The same, in common with all who use it at the same time.

    They take turns on its threads and connections, which end when the last
    of them leaves. Each counts its own requests.
    """
    from tacker_k8s_cr.cluster import sharing
    from tacker_k8s_cr.cluster.server import ApiServer

    _warn(kubeconfig)
    with sharing.processes(kubeconfig, pool) as processes:
        yield ApiServer(processes, kubeconfig.server)


def _warn(kubeconfig: Kubeconfig, verify: bool = True) -> None:
    server = kubeconfig.server
    if server.startswith("http:"):
        unsafe = kubeconfig.credential_kind not in ("none", _CERTIFICATE)
        said = "the credential is sent without TLS"
    else:
        unsafe = kubeconfig.insecure or not verify
        said = "its certificate is not verified"
    if unsafe and server not in _WARNED:
        _WARNED.add(server)
        LOG.warning("%s: %s", server, said)


def _itself(kubeconfig: Kubeconfig) -> Kubeconfig:
    return kubeconfig


def _source(
    path: str | os.PathLike[str] | None, context: str
) -> functools.partial[Kubeconfig]:
    """Reads it anew each time, since files are replaced."""
    paths = os.fspath(path) if path else os.environ.get("KUBECONFIG", "")
    usual = os.path.expanduser("~/.kube/config")
    if not paths and os.path.exists(usual):
        paths = usual
    if paths:
        return functools.partial(kubeconfigs.load, paths, context)
    return functools.partial(kubeconfigs.in_cluster, os.environ)
