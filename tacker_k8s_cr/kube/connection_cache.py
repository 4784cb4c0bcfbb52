"""What is open to one server, for all operations at the same time."""

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
class _Open:
    processes: Processes
    users: int = 0


class _Own:
    """What one process shares; a fork must not use its parent's lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.open: dict[str, _Open] = {}


_BY_ID: dict[int, _Own] = {}


@contextlib.contextmanager
def shared_connections(
    kubeconfig: Kubeconfig, pool: int
) -> Iterator[Processes]:
    """Open for as long as anybody uses it: nothing stays open at rest.

    Another credential is another user, who shares nothing with this one.
    """
    own = _BY_ID.setdefault(os.getpid(), _Own())
    key = _name(kubeconfig, pool)
    with own.lock:
        found = own.open.get(key)
        if found is None:
            source = functools.partial(_itself, kubeconfig)
            found = own.open[key] = _Open(Processes(source, True, pool))
        found.users += 1
    try:
        yield found.processes
    finally:
        with own.lock:
            found.users -= 1
            if last := not found.users:
                del own.open[key]
        if last:
            found.processes.close()


def _itself(kubeconfig: Kubeconfig) -> Kubeconfig:
    return kubeconfig


def _name(kubeconfig: Kubeconfig, pool: int) -> str:
    """Of all that the kubeconfig says, without keeping it."""
    fields = [dataclasses.asdict(kubeconfig), pool]
    text = json.dumps(fields, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
