"""Taking from a watch what a test looks for."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence

from tacker_k8s_cr.cluster.protocol import Changed
from tacker_k8s_cr.cluster.protocol import Observation
from tacker_k8s_cr.cluster.protocol import Watching
from tacker_k8s_cr.deadline import Deadline

SECONDS = 20.0
"""A limit that no step of these tests comes near."""


def until(
    watching: Watching, is_it: Callable[[Observation], bool]
) -> Sequence[Observation]:
    """What a watch brings, up to the first that is looked for."""
    deadline = Deadline.after(SECONDS)
    seen: list[Observation] = []
    while not deadline.passed:
        for item in watching.take(deadline.left):
            seen.append(item)
            if is_it(item):
                return seen
    raise AssertionError(f"not among what the watch brought: {seen}")


def shows(name: str, *, gone: bool = False) -> Callable[[Observation], bool]:
    """Whether an event is about the object with this name."""

    def is_it(item: Observation) -> bool:
        return (
            isinstance(item, Changed)
            and item.gone == gone
            and item.obj["metadata"]["name"] == name
        )

    return is_it
