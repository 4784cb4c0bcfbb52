"""The way to one API server: pools of connections, and who we are on them.

Configuration, proxies and the pool are the Kubernetes client's. Requests go
straight to its pool, so that its models and its logging of bodies are not
on the way, and the TLS context is ours, since the client would write a
key to a file.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import re
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING
import urllib.parse
import warnings

from tacker_k8s_cr.cluster import credentials
from tacker_k8s_cr.cluster import tls
from tacker_k8s_cr.cluster.together import together
from tacker_k8s_cr.errors import KubeconfigInvalid
from tacker_k8s_cr.kubeconfig import Kubeconfig

if TYPE_CHECKING:
    import urllib3

Source = Callable[[], Kubeconfig]
"""Reads the kubeconfig; again, when the server refuses what it said."""


@dataclasses.dataclass(frozen=True, repr=False)
class Access:
    """A pool of connections to the server, and what each request adds."""

    pool: urllib3.HTTPConnectionPool
    base: str
    headers: Mapping[str, str]
    context: ssl.SSLContext
    kubeconfig: Kubeconfig
    credential: credentials.Credential


class Connection:
    """Connections of one process to one server."""

    def __init__(self, source: Source, verify: bool, size: int):
        self._source = source
        self._verify = verify
        self._size = size
        self._lock = threading.Lock()
        self._access: Access | None = None

    def access(self) -> Access:
        """What requests go out with now."""
        access = self._access
        if access and time.monotonic() < access.credential.until:
            return access
        with self._lock:
            if self._access is None or self._access is access:
                self._access = self._made(self._access)
            return self._access

    def renewed(self, refused: Access) -> Access | None:
        """Another credential than the refused one; None if there is none."""
        with self._lock:
            current = self._access
            if current and current.credential is not refused.credential:
                return current
            made = self._made(current)
            if made.credential == refused.credential:
                return None
            self._access = made
            return made

    def close(self) -> None:
        with self._lock:
            if self._access is not None:
                self._access.pool.close()
                self._access = None

    def _made(self, before: Access | None) -> Access:
        kubeconfig = self._source()
        credential = credentials.credential(kubeconfig)
        headers = {"User-Agent": "tacker-k8s-cr", **credential.headers}
        if (
            before
            and before.kubeconfig == kubeconfig
            and before.credential.certificate == credential.certificate
        ):
            return dataclasses.replace(
                before, headers=headers, credential=credential
            )
        verify = self._verify and not kubeconfig.insecure
        context = tls.context(kubeconfig, credential, verify)
        pool = _pool(kubeconfig, context, self._size)
        parts = urllib.parse.urlsplit(kubeconfig.server)
        # Behind a proxy a plain http request names the whole URL.
        plain = parts.scheme == "http" and pool.proxy is not None
        base = kubeconfig.server if plain else parts.path
        return Access(pool, base, headers, context, kubeconfig, credential)


class Apart:
    """The same way and credential, on a pool of its own.

    For streams, which occupy their connections. A peer that went away in
    silence is noticed by keep-alive probes.
    """

    def __init__(self, connection: Connection, size: int):
        self._connection = connection
        self._size = size
        self._lock = threading.Lock()
        self._access: Access | None = None

    def access(self) -> Access:
        current = self._connection.access()
        with self._lock:
            own = self._access
            if own is None or own.context is not current.context:
                pool = _pool(
                    current.kubeconfig, current.context, self._size, _PROBES
                )
            else:
                pool = own.pool
            self._access = dataclasses.replace(current, pool=pool)
            return self._access

    def renewed(self, refused: Access) -> Access | None:
        return self.access() if self._connection.renewed(refused) else None

    def close(self) -> None:
        with self._lock:
            if self._access is not None:
                self._access.pool.close()
                self._access = None


def _pool(
    kubeconfig: Kubeconfig,
    context: ssl.SSLContext,
    size: int,
    options: Sequence[tuple[int, int, int]] = (),
) -> urllib3.HTTPConnectionPool:
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
        _say_it_once(kubeconfig.server)
    if kubeconfig.server.startswith("https:"):
        for name in ("ca_certs", "ca_cert_data", "cert_file", "key_file"):
            settings.pop(name, None)
        settings["ssl_context"] = context
    if options:
        settings["socket_options"] = [_NO_DELAY, *options]
    pool: urllib3.HTTPConnectionPool = manager.connection_from_url(
        kubeconfig.server
    )
    pool.ConnectionCls = together(pool.ConnectionCls)
    return pool


def _say_it_once(server: str) -> None:
    """``connect`` logs that nothing is verified; no need to, each time."""
    host = re.escape(urllib.parse.urlsplit(server).hostname or "")
    warnings.filterwarnings(
        "ignore", message=f"Unverified HTTPS request .* host '{host}'"
    )


_NO_DELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
_PROBES = [
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
