"""The way to one API server: pools of connections, and who we are on them."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import datetime
import ssl
import threading
import time
from typing import TYPE_CHECKING
import urllib.parse

from tacker_k8s_cr.cluster import credentials
from tacker_k8s_cr.cluster import pools
from tacker_k8s_cr.cluster import tls
from tacker_k8s_cr.cluster.turns import taken
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.errors import Unauthenticated
from tacker_k8s_cr.errors import Unavailable
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

    def refused(self, error: Unauthenticated) -> Unauthenticated:
        """The server's refusal, with whose credential it is and its end."""
        where = self.kubeconfig.where
        whose = "" if where == self.kubeconfig.server else where
        said = error.why
        end = self.kubeconfig.expires
        if end and end <= datetime.datetime.now(datetime.timezone.utc):
            ended = f"it expired at {end:%Y-%m-%dT%H:%M:%SZ}"
            said = f"{ended}: {said}" if said else ended
        return dataclasses.replace(error, why=said, whose=whose)


class Connection:
    """Connections of one process to one server."""

    def __init__(self, source: Source, verify: bool, size: int):
        self._source = source
        self._verify = verify
        self._size = size
        self._lock = threading.Lock()
        self._access: Access | None = None

    def access(self, deadline: Deadline) -> Access:
        """What requests go out with now.

        A credential that is due is renewed by one thread; the others go on
        with it for as long as it holds, and wait for it after that, each
        until its own deadline.
        """
        access = self._access
        now = time.monotonic()
        if access and now < access.credential.until:
            return access
        if access and now < access.credential.end:
            if not self._lock.acquire(blocking=False):
                return access
        else:
            self._wait(deadline)
        try:
            if self._access is None or self._access is access:
                self._access = self._made(self._access, None, deadline)
            return self._access
        finally:
            self._lock.release()

    def renewed(self, refused: Access, deadline: Deadline) -> Access | None:
        """Another credential than the refused one; None if there is none."""
        self._wait(deadline)
        try:
            current = self._access
            if current and current.credential is not refused.credential:
                return current
            made = self._made(current, refused.credential, deadline)
            if made.credential == refused.credential:
                return None
            self._access = made
            return made
        finally:
            self._lock.release()

    def _wait(self, deadline: Deadline) -> None:
        """For another thread that asks a plug-in or a provider."""
        if not taken(self._lock, deadline):
            raise Unavailable.not_sent("a credential for the API server")

    def reconnect(self) -> None:
        """Let the next request go out on a new connection."""
        access = self._access
        if access is not None:
            pools.reconnect(access.pool)

    def close(self) -> None:
        with self._lock:
            if self._access is not None:
                self._access.pool.close()
                self._access = None

    def _made(
        self,
        before: Access | None,
        refused: credentials.Credential | None,
        deadline: Deadline,
    ) -> Access:
        kubeconfig = self._source()
        credential = credentials.credential(kubeconfig, refused, deadline)
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
        pool = pools.pool(kubeconfig, context, self._size)
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

    def access(self, deadline: Deadline) -> Access:
        current = self._connection.access(deadline)
        with self._lock:
            own = self._access
            if own is None or own.context is not current.context:
                pool = pools.pool(
                    current.kubeconfig,
                    current.context,
                    self._size,
                    pools.PROBES,
                )
            else:
                pool = own.pool
            self._access = dataclasses.replace(current, pool=pool)
            return self._access

    def renewed(self, refused: Access, deadline: Deadline) -> Access | None:
        if self._connection.renewed(refused, deadline) is None:
            return None
        return self.access(deadline)

    def reconnect(self) -> None:
        """Let the next stream go out on a new connection."""
        access = self._access
        if access is not None:
            pools.reconnect(access.pool)

    def close(self) -> None:
        with self._lock:
            if self._access is not None:
                self._access.pool.close()
                self._access = None
