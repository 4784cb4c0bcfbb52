"""Watches of the fake cluster: a queue that each write feeds."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Changed
from tacker_k8s_cr.cluster.protocol import Listed
from tacker_k8s_cr.cluster.protocol import Observation
from tacker_k8s_cr.cluster.protocol import Watch
from tacker_k8s_cr.objects import GroupKind
from tests.fakes.store import Stored


def matches(watch: Watch, obj: Mapping[str, Any]) -> bool:
    """Whether an object is in what a watch selects."""
    if GroupKind.of(obj) != watch.group_kind:
        return False
    if watch.namespace not in ("", obj["metadata"].get("namespace")):
        return False
    labels = objects.labels(obj)
    for term in filter(None, watch.selector.split(",")):
        key, wanted, value = term.partition("=")
        if key not in labels or (wanted and labels[key] != value):
            return False
    return True


class FakeWatching:
    """A ``Watching``. Without anything to show it calls ``world.idle``."""

    def __init__(self, world: Any, watches: Sequence[Watch]):
        self._world = world
        self._watches = tuple(watches)
        self._came: list[Observation] = []
        for watch in watches:
            objs = tuple(
                stored.shown()
                for _, stored in sorted(world.objects.items())
                if matches(watch, stored.obj)
            )
            self._came.append(Listed(watch, objs))

    def take(self, seconds: float) -> Sequence[Observation]:
        if not self._came:
            self._world.idle(seconds)
        came, self._came = self._came, []
        return came

    def changed(self, before: Stored | None, after: Stored) -> None:
        for watch in self._watches:
            if matches(watch, after.obj):
                self._came.append(Changed(after.shown()))
            elif before and matches(watch, before.obj):
                self._came.append(Changed(after.shown(), gone=True))

    def gone(self, stored: Stored) -> None:
        for watch in self._watches:
            if matches(watch, stored.obj):
                self._came.append(Changed(stored.shown(), gone=True))
