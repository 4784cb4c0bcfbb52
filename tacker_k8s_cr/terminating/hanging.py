"""Say what keeps objects from going, while they are still waited for."""

from __future__ import annotations

from collections.abc import Callable
import logging

from tacker_k8s_cr.causes import explain
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.errors import Unsettled
from tacker_k8s_cr.progress import Progress

LOG = logging.getLogger(__name__)

FIRST = 30.0
"""Seconds after which it is said first; each time it is twice as long."""

SHOWN = 5
"""Objects of which it is said."""


class Hanging:
    """Listens to a wait, and is called every few seconds of it.

    A deadline may be half an hour away; who reads the log can act before.
    """

    def __init__(
        self,
        cluster: Cluster,
        deadline: Deadline,
        listen: Callable[[Progress], None],
        guard: Callable[[], None],
    ):
        self._cluster = cluster
        self._deadline = deadline
        self._listen = listen
        self._guard = guard
        self._last: Progress | None = None
        self._begun = deadline.now
        self._pause = FIRST

    def listen(self, progress: Progress) -> None:
        self._last = progress
        self._listen(progress)

    def guard(self) -> None:
        self._guard()
        since = self._deadline.now - self._begun
        if self._last and since >= self._pause:
            self._pause *= 2
            self._tell(self._last, since)

    def _tell(self, progress: Progress, since: float) -> None:
        now = self._deadline.now
        items = [
            Unsettled(ref, progress.verdict(ref, now), since)
            for ref in progress.unsettled
        ]
        found = explain.explained(
            self._cluster,
            progress.registry,
            items[:SHOWN],
            self._deadline.left,
        )
        for item in found:
            LOG.warning("not gone yet: %s", item)
        if len(items) > SHOWN:
            LOG.warning("not gone yet: and %d more", len(items) - SHOWN)
