"""Watches of the fake cluster: a queue that each write feeds."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from tacker_k8s_cr.kube.protocol import Snapshot
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.kube.protocol import WatchEvent
from tacker_k8s_cr.kube.protocol import WatchUpdate
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tests.fakes.object_store import Stored


def is_selected(watch: Watch, obj: Mapping[str, Any]) -> bool:
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


class FakeWatchSession:
    """A ``Watching``. Without anything to show it calls ``world.idle``."""

    def __init__(self, world: Any, watches: Sequence[Watch]):
        self._world = world
        self._watches = tuple(watches)
        self._came: list[WatchUpdate] = []
        for watch in watches:
            objs = tuple(
                stored.shown()
                for _, stored in sorted(world.objects.items())
                if is_selected(watch, stored.obj)
            )
            self._came.append(Snapshot(watch, objs))

    def next_events(self, seconds: float) -> Sequence[WatchUpdate]:
        if not self._came:
            self._world.idle(seconds)
        came, self._came = self._came, []
        return came

    def changed(self, before: Stored | None, after: Stored) -> None:
        for watch in self._watches:
            if is_selected(watch, after.obj):
                self._came.append(WatchEvent(after.shown()))
            elif before and is_selected(watch, before.obj):
                self._came.append(WatchEvent(after.shown(), deleted=True))

    def gone(self, stored: Stored) -> None:
        for watch in self._watches:
            if is_selected(watch, stored.obj):
                self._came.append(WatchEvent(stored.shown(), deleted=True))
