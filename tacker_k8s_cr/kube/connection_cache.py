"""Share the connections to one server between concurrent operations."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import threading

from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.per_process import Processes


@dataclasses.dataclass
class _SharedConnections:
    processes: Processes
    users: int = 0


class _ProcessCache:
    """The shared connections of one process; a fork has its own lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.open: dict[str, _SharedConnections] = {}


_BY_ID: dict[int, _ProcessCache] = {}


@contextlib.contextmanager
def shared_connections(
    kubeconfig: Kubeconfig, pool: int
) -> Iterator[Processes]:
    """Yield connections that are closed when their last user leaves.

    Connections with different credentials are never shared.
    """
    cache = _BY_ID.setdefault(os.getpid(), _ProcessCache())
    key = _key(kubeconfig, pool)
    with cache.lock:
        entry = cache.open.get(key)
        if entry is None:
            source = functools.partial(_itself, kubeconfig)
            entry = cache.open[key] = _SharedConnections(
                Processes(source, True, pool)
            )
        entry.users += 1
    try:
        yield entry.processes
    finally:
        with cache.lock:
            entry.users -= 1
            if last := not entry.users:
                del cache.open[key]
        if last:
            entry.processes.close()


def _itself(kubeconfig: Kubeconfig) -> Kubeconfig:
    return kubeconfig


def _key(kubeconfig: Kubeconfig, pool: int) -> str:
    """Return a hash of the whole kubeconfig, which is not stored."""
    fields = [dataclasses.asdict(kubeconfig), pool]
    text = json.dumps(fields, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
