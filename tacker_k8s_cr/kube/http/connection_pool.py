"""Create connection pools with the Kubernetes client's settings and proxies.

Requests use the pool directly, without the client's models and its logging of
bodies. The TLS context is our own, since the client writes keys to files.
"""

from __future__ import annotations

from collections.abc import Sequence
import re
import socket
import ssl
from typing import TYPE_CHECKING, Any
import urllib.parse
import warnings

from tacker_k8s_cr.kube.http.single_write import single_write_connection
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.model.errors import KubeconfigInvalid

if TYPE_CHECKING:
    import urllib3


_LATER = float("inf")


def create_pool(
    kubeconfig: Kubeconfig,
    context: ssl.SSLContext,
    size: int,
    options: Sequence[tuple[int, int, int]] = (),
) -> urllib3.HTTPConnectionPool:
    """Return a pool for the kubeconfig's server, through its proxy if any."""
    from kubernetes.client import configuration as client_configuration
    from kubernetes.client import rest

    configuration = client_configuration.Configuration()
    configuration.host = kubeconfig.server
    configuration.verify_ssl = context.verify_mode is not ssl.CERT_NONE
    configuration.connection_pool_maxsize = size
    if kubeconfig.proxy:
        configuration.proxy = kubeconfig.proxy
    if kubeconfig.tls_server_name:
        configuration.tls_server_name = kubeconfig.tls_server_name
    try:
        manager = rest.RESTClientObject(configuration).pool_manager
    except ValueError:
        raise KubeconfigInvalid(
            kubeconfig.where, "proxy-url is not a URL of a proxy"
        ) from None
    settings = manager.connection_pool_kw
    if not configuration.verify_ssl:
        _hide_warnings(kubeconfig.server)
    if kubeconfig.server.startswith("https:"):
        for name in ("ca_certs", "ca_cert_data", "cert_file", "key_file"):
            settings.pop(name, None)
        settings["ssl_context"] = context
    if options:
        settings["socket_options"] = [_NO_DELAY, *options]
    created: urllib3.HTTPConnectionPool = manager.connection_from_url(
        kubeconfig.server
    )
    created.ConnectionCls = single_write_connection(created.ConnectionCls)
    return created


def reconnect(pool: urllib3.HTTPConnectionPool, since: float = _LATER) -> None:
    """Close the idle connections; the next request makes a new one.

    Behind a balancer each of them stays with one server. A new one may lead
    to another, or to the server that just failed. So connections that
    answered meanwhile stay open, and the next request takes the last of them.

    :param since: the time on the clock of ``time.monotonic`` at which the
        request that failed was sent; without it, all are closed.
    """
    queue = pool.pool
    if queue is None:
        return  # the pool was closed
    # Its mutex keeps other threads from taking a connection that is
    # being closed.
    with queue.mutex:
        for connection in queue.queue:
            if connection is not None and _last_answer(connection) < since:
                connection.close()
        # The last one is used first.
        queue.queue.sort(key=_last_answer)


def _last_answer(connection: Any) -> float:
    """Return the time of its last answer; 0 for one that is not open."""
    is_open = connection is not None and connection.sock is not None
    return getattr(connection, "answered", 0.0) if is_open else 0.0


def _hide_warnings(server: str) -> None:
    """Hide urllib3's warning on each request; ``connect`` logs it once."""
    host = re.escape(urllib.parse.urlsplit(server).hostname or "")
    warnings.filterwarnings(
        "ignore", message=f"Unverified HTTPS request .* host '{host}'"
    )


_NO_DELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
PROBES = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (
            ("TCP_KEEPIDLE", 30),
            ("TCP_KEEPINTVL", 10),
            ("TCP_KEEPCNT", 3),
        )
        if hasattr(socket, name)
    ),
]
