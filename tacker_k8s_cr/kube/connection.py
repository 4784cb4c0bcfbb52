"""Keep the connections to one API server and their credential."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import threading
import time
import urllib.parse

from tacker_k8s_cr.kube import credentials
from tacker_k8s_cr.kube.http import connection_pool
from tacker_k8s_cr.kube.http import tls
from tacker_k8s_cr.kube.http.credential import Credential
from tacker_k8s_cr.kube.http.session import Session
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.single_flight import acquire_before
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import Unavailable

Source = Callable[[], Kubeconfig]
"""Reads the kubeconfig, again when the server refuses its credential."""


class Connection:
    """Connections of one process to one server."""

    def __init__(self, source: Source, verify: bool, size: int):
        self._source = source
        self._verify = verify
        self._size = size
        self._lock = threading.Lock()
        self._access: Session | None = None

    def access(self, deadline: Deadline) -> Session:
        """Return the session of the next request.

        One thread renews a credential that is due. The others use the old one
        while it is valid, and then wait, each until its own deadline.
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
                self._access = self._create_session(
                    self._access, None, deadline
                )
            return self._access
        finally:
            self._lock.release()

    def refresh(self, refused: Session, deadline: Deadline) -> Session | None:
        """Return a session with another credential; None if there is none."""
        self._wait(deadline)
        try:
            current = self._access
            if current and current.credential is not refused.credential:
                return current
            renewed = self._create_session(
                current, refused.credential, deadline
            )
            if renewed.credential == refused.credential:
                return None
            self._access = renewed
            return renewed
        finally:
            self._lock.release()

    def _wait(self, deadline: Deadline) -> None:
        """Wait for the thread that creates a credential."""
        if not acquire_before(self._lock, deadline):
            raise Unavailable.not_sent("a credential for the API server")

    def reconnect(self) -> None:
        """Let the next request go out on a new connection."""
        access = self._access
        if access is not None:
            connection_pool.reconnect(access.pool)

    def close(self) -> None:
        with self._lock:
            if self._access is not None:
                self._access.pool.close()
                self._access = None

    def _create_session(
        self,
        former: Session | None,
        refused: Credential | None,
        deadline: Deadline,
    ) -> Session:
        kubeconfig = self._source()
        credential = credentials.create_credential(
            kubeconfig, refused, deadline
        )
        headers = {"User-Agent": "tacker-k8s-cr", **credential.headers}
        if (
            former
            and former.kubeconfig == kubeconfig
            and former.credential.certificate == credential.certificate
        ):
            return dataclasses.replace(
                former, headers=headers, credential=credential
            )
        verify = self._verify and not kubeconfig.insecure
        context = tls.create_context(kubeconfig, credential, verify)
        pool = connection_pool.create_pool(kubeconfig, context, self._size)
        parts = urllib.parse.urlsplit(kubeconfig.server)
        # A plain HTTP request to a proxy contains the whole URL.
        plain = parts.scheme == "http" and pool.proxy is not None
        base = kubeconfig.server if plain else parts.path
        return Session(pool, base, headers, context, kubeconfig, credential)


class WatchConnection:
    """The same credential, with a separate pool for watches.

    A watch occupies its connection. Keep-alive probes detect a peer that has
    disappeared.
    """

    def __init__(self, connection: Connection, size: int):
        self._connection = connection
        self._size = size
        self._lock = threading.Lock()
        self._access: Session | None = None

    def access(self, deadline: Deadline) -> Session:
        current = self._connection.access(deadline)
        with self._lock:
            own = self._access
            if own is None or own.context is not current.context:
                pool = connection_pool.create_pool(
                    current.kubeconfig,
                    current.context,
                    self._size,
                    connection_pool.PROBES,
                )
            else:
                pool = own.pool
            self._access = dataclasses.replace(current, pool=pool)
            return self._access

    def refresh(self, refused: Session, deadline: Deadline) -> Session | None:
        if self._connection.refresh(refused, deadline) is None:
            return None
        return self.access(deadline)

    def reconnect(self) -> None:
        """Let the next stream go out on a new connection."""
        access = self._access
        if access is not None:
            connection_pool.reconnect(access.pool)

    def close(self) -> None:
        with self._lock:
            if self._access is not None:
                self._access.pool.close()
                self._access = None
