"""The only package that sends requests to a kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import functools
import logging
import os
from typing import TYPE_CHECKING

from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig

if TYPE_CHECKING:
    from tacker_k8s_cr.kube.first_answer import FirstAnswer
    from tacker_k8s_cr.kube.protocol import Cluster

LOG = logging.getLogger(__name__)

_WARNED: set[str] = set()
"""Servers whose unsafe connection was logged."""

_CERTIFICATE = "client certificate"
"""The kind of credential of which nothing is sent without TLS."""


def connect(
    kubeconfig: Kubeconfig | str | os.PathLike[str] | None = None,
    context: str | None = None,
    *,
    verify: bool = True,
    pool: int = 16,
    contact: FirstAnswer | None = None,
) -> Cluster:
    """Return a cluster to work on. Nothing is sent yet.

    :param kubeconfig: a value, such as `kubeconfig.for_server` makes of a
        URL and a token; or the path of a file that the user named (several
        are separated as in ``KUBECONFIG``). By default the files in
        ``KUBECONFIG``, else ``~/.kube/config``, else the service account of
        the Pod.
    :param context: a context of the file; by default its current-context.
    :param verify: False trusts any server that answers.
    :param pool: the number of requests at the same time.
    :param contact: limits for interactive use, which apply until the server
        has answered once.
    """
    # The Kubernetes client takes a while to import; a command line that
    # only shows its help does without it.
    from tacker_k8s_cr.kube.per_process import Processes
    from tacker_k8s_cr.kube.server import ApiServer

    if isinstance(kubeconfig, Kubeconfig):
        source = functools.partial(_return_itself, kubeconfig)
    else:
        source = _source(kubeconfig, context or "")
    first = source()
    _warn_if_unsafe(first, verify)
    return ApiServer(Processes(source, verify, pool), first.server, contact)


@contextlib.contextmanager
def shared(kubeconfig: Kubeconfig, pool: int = 16) -> Iterator[Cluster]:
    """Yield a cluster whose connections are shared with other operations.

    They take turns on its threads and connections, which are closed when the
    last operation ends. Each counts its own requests.
    """
    from tacker_k8s_cr.kube import connection_cache
    from tacker_k8s_cr.kube.server import ApiServer

    _warn_if_unsafe(kubeconfig)
    with connection_cache.shared_connections(kubeconfig, pool) as processes:
        yield ApiServer(processes, kubeconfig.server)


def _warn_if_unsafe(kubeconfig: Kubeconfig, verify: bool = True) -> None:
    server = kubeconfig.server
    if server.startswith("http:"):
        unsafe = kubeconfig.credential_kind not in ("none", _CERTIFICATE)
        warning = "the credential is sent without TLS"
    else:
        unsafe = kubeconfig.insecure or not verify
        warning = "its certificate is not verified"
    if unsafe and server not in _WARNED:
        _WARNED.add(server)
        LOG.warning("%s: %s", server, warning)


def _return_itself(kubeconfig: Kubeconfig) -> Kubeconfig:
    return kubeconfig


def _source(
    path: str | os.PathLike[str] | None, context: str
) -> functools.partial[Kubeconfig]:
    """Return what reads the file, each time again: files are replaced."""
    paths = os.fspath(path) if path else os.environ.get("KUBECONFIG", "")
    default = os.path.expanduser("~/.kube/config")
    if not paths and os.path.exists(default):
        paths = default
    if paths:
        return functools.partial(kubeconfigs.load, paths, context)
    return functools.partial(kubeconfigs.in_cluster, os.environ)
