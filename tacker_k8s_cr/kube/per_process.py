"""What is open to one server, in each process that uses it."""

from __future__ import annotations

import os

from tacker_k8s_cr.kube.connection import Connection
from tacker_k8s_cr.kube.connection import Source
from tacker_k8s_cr.kube.discovery import Discovery
from tacker_k8s_cr.kube.http.requests import Counter
from tacker_k8s_cr.kube.lagging_servers import Definitions
from tacker_k8s_cr.kube.thread_pool import WorkerPool

_process = os.getpid()
"""The id of this process: to ask for it takes a system call, and a request
would need six."""


def _note_fork() -> None:
    global _process
    _process = os.getpid()


os.register_at_fork(after_in_child=_note_fork)

_OTHERS = 136
"""Connections that are kept beside those of the pool's threads: for callers
and their locks, of as many operations as there are at once. They are made
when they are needed."""


class ProcessConnections:
    """What one process has open; a fork starts with nothing of its parent."""

    def __init__(self, source: Source, verify: bool, size: int):
        self.connection = Connection(source, verify, size + _OTHERS)
        self.pool = WorkerPool(size)
        self.discovery = Discovery()
        self.definitions = Definitions()

    def close(self) -> None:
        self.pool.close()
        self.connection.close()


class Processes:
    """What is open, by process id."""

    def __init__(self, source: Source, verify: bool, size: int):
        self._made = (source, verify, size)
        self._by_id: dict[int, ProcessConnections] = {}

    def own(self) -> ProcessConnections:
        own = self._by_id.get(_process)
        if own is None:
            # Not under a lock: a fork may have copied a locked one.
            made = ProcessConnections(*self._made)
            own = self._by_id.setdefault(_process, made)
        return own

    def close(self) -> None:
        if own := self._by_id.pop(_process, None):
            own.close()


class Counters:
    """How many requests one caller sent, by process id."""

    def __init__(self) -> None:
        self._by_id: dict[int, Counter] = {}

    def own(self) -> Counter:
        return self._by_id.get(_process) or self._by_id.setdefault(
            _process, Counter()
        )
