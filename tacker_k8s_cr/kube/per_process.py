"""Connections to one server, separate for each process."""

from __future__ import annotations

import os

from tacker_k8s_cr.kube.connection import Connection
from tacker_k8s_cr.kube.connection import Source
from tacker_k8s_cr.kube.discovery import Discovery
from tacker_k8s_cr.kube.http.requests import Counter
from tacker_k8s_cr.kube.lagging_servers import Definitions
from tacker_k8s_cr.kube.thread_pool import WorkerPool

_process = os.getpid()
"""The id of this process: reading it takes a system call, and each request
would need six."""


def _note_fork() -> None:
    global _process
    _process = os.getpid()


os.register_at_fork(after_in_child=_note_fork)

_EXTRA_CONNECTIONS = 136
"""Connections in addition to those of the pool's threads: for callers and
their locks, with as many operations as run concurrently. They are opened
when they are needed."""


class ProcessConnections:
    """The connections of one process; a fork uses none of its parent."""

    def __init__(self, source: Source, verify: bool, size: int):
        self.connection = Connection(source, verify, size + _EXTRA_CONNECTIONS)
        self.pool = WorkerPool(size)
        self.discovery = Discovery()
        self.definitions = Definitions()

    def close(self) -> None:
        self.pool.close()
        self.connection.close()


class Processes:
    """The connections by process id."""

    def __init__(self, source: Source, verify: bool, size: int):
        self._arguments = (source, verify, size)
        self._by_id: dict[int, ProcessConnections] = {}

    def own(self) -> ProcessConnections:
        own = self._by_id.get(_process)
        if own is None:
            # Not under a lock: a fork may have copied a locked one.
            created = ProcessConnections(*self._arguments)
            own = self._by_id.setdefault(_process, created)
        return own

    def close(self) -> None:
        if own := self._by_id.pop(_process, None):
            own.close()


class Counters:
    """The number of requests of one caller, by process id."""

    def __init__(self) -> None:
        self._by_id: dict[int, Counter] = {}

    def own(self) -> Counter:
        return self._by_id.get(_process) or self._by_id.setdefault(
            _process, Counter()
        )
