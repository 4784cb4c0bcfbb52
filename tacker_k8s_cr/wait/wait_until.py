"""The wait loop: check a condition at each change until the deadline."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.kube.protocol import WatchUpdate
from tacker_k8s_cr.model.deadline import Deadline

MIN_READ_SECONDS = 0.01
"""Minimum seconds for which the watches are read."""

Step = Callable[[Sequence[WatchUpdate]], float | None]


def wait_until(
    cluster: Cluster,
    watches: Iterable[Watch],
    step: Step,
    deadline: Deadline,
    guard: Callable[[], None] = lambda: None,
) -> bool:
    """Call ``step`` until it has nothing left to wait for.

    :param watches: the watches whose updates the step receives; none with
        the first call.
    :param step: returns the seconds after which it is called again at the
        latest, or None at the end of the wait. It can raise.
    :param guard: raises when the wait has to end, before each step.
    :return: whether the step ended the wait before the deadline.
    """
    with cluster.watch(tuple(dict.fromkeys(watches))) as watch_session:
        updates: Sequence[WatchUpdate] = ()
        while True:
            guard()
            pause = step(updates)
            if pause is None:
                return True
            if deadline.expired:
                return False
            limit = min(pause, deadline.remaining)
            updates = watch_session.next_events(max(MIN_READ_SECONDS, limit))
