"""Taking from a watch the events that a test expects."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence

from tacker_k8s_cr.kube.protocol import WatchEvent
from tacker_k8s_cr.kube.protocol import WatchSession
from tacker_k8s_cr.kube.protocol import WatchUpdate
from tacker_k8s_cr.model.deadline import Deadline

SECONDS = 20.0
"""A limit that no step of these tests comes near."""


def read_events_until(
    watching: WatchSession, is_it: Callable[[WatchUpdate], bool]
) -> Sequence[WatchUpdate]:
    """What a watch brings, up to the first that is looked for."""
    deadline = Deadline.after(SECONDS)
    seen: list[WatchUpdate] = []
    while not deadline.expired:
        for item in watching.next_events(deadline.remaining):
            seen.append(item)
            if is_it(item):
                return seen
    raise AssertionError(f"not among what the watch brought: {seen}")


def is_event_of(
    name: str, *, gone: bool = False
) -> Callable[[WatchUpdate], bool]:
    """Whether an event is about the object with this name."""

    def is_it(item: WatchUpdate) -> bool:
        return (
            isinstance(item, WatchEvent)
            and item.deleted == gone
            and item.obj["metadata"]["name"] == name
        )

    return is_it
