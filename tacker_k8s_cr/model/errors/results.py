"""Errors about objects that did not reach the wanted state."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.model.errors import problems
from tacker_k8s_cr.model.errors.base import Error
from tacker_k8s_cr.model.errors.problems import Problem
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict

_ENDED = frozenset({State.FAILED, State.BLOCKED})


@dataclasses.dataclass(frozen=True)
class PendingObject:
    """An object that has not reached the wanted state, with the causes.

    :param age: seconds since it was written, or its deletion requested.
    :param notes: warning events, and messages of related objects.
    """

    ref: ObjectRef
    verdict: Verdict
    age: float
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.ref}: {self.verdict} (for {self.age:.0f} s)"]
        return "\n    ".join([*lines, *self.notes])


def pending_lines(
    pending: Sequence[PendingObject], unwritten: Mapping[ObjectRef, str]
) -> list[str]:
    """Return a limited number of indented lines, those with an error first.

    :param unwritten: objects that are not written, with the reason.
    """
    lines = [f"  {item}" for item in _ordered(pending)]
    waiting = [
        Problem("", f"not written: {why}", ref)
        for ref, why in unwritten.items()
    ]
    return [
        *problems.limit_lines(lines, "more objects", "  "),
        *(f"  {line}" for line in problems.lines_by_reason(waiting)),
    ]


def _ordered(pending: Sequence[PendingObject]) -> list[PendingObject]:
    return sorted(
        pending,
        key=lambda item: (
            item.verdict.state not in _ENDED and not item.verdict.error
        ),
    )


@dataclasses.dataclass(eq=False)
class _WithPending(Error):
    """Objects that did not reach the wanted state in time.

    :param unwritten: objects that waited for these or for something else,
        with the reason.
    """

    start = "{}"

    pending: Sequence[PendingObject]
    seconds: float
    unwritten: Mapping[ObjectRef, str] = dataclasses.field(
        default_factory=dict
    )

    def sentence(self) -> str:
        return "\n".join(
            [self._start(), *pending_lines(self.pending, self.unwritten)]
        )

    def full_sentence(self) -> str:
        return "\n".join(
            [
                self._start(),
                *(f"  {item}" for item in _ordered(self.pending)),
                *(
                    f"  {ref}: not written: {why}"
                    for ref, why in self.unwritten.items()
                ),
            ]
        )

    def _start(self) -> str:
        return self.start.format(len(self.pending), self.seconds)


class ReadinessTimeout(_WithPending):
    """The deadline passed before all objects were current."""

    start = "{} object(s) not current after {:.0f} s:"
    remedy = (
        "Remove the cause that is shown for each object, then repeat the "
        "operation, which continues where it stopped; without an error, "
        "allow more time"
    )


class DeletionTimeout(_WithPending):
    """The deadline passed before all objects were deleted."""

    start = "{} object(s) not deleted after {:.0f} s:"
    remedy = (
        "Remove what blocks the deletion of each object, then repeat the "
        "operation, which continues where it stopped"
    )


class ObjectsFailed(_WithPending):
    """Objects failed, or are blocked: waiting longer would not help."""

    start = "{} object(s) failed or are blocked, after {:.0f} s:"
    remedy = (
        "Remove the cause that is shown for each object, then repeat the "
        "operation, which continues where it stopped"
    )


@dataclasses.dataclass(eq=False)
class CleanupFailed(Error):
    """A Cluster was not deleted: cleanup in its workload cluster failed."""

    remedy = (
        "Remove the cause and terminate again. To delete it anyway, "
        "terminate without cleanup"
    )

    ref: ObjectRef
    why: str

    def sentence(self) -> str:
        return (
            f"{self.ref}: not deleted: cleanup in its workload cluster did "
            f"not finish: {self.why}"
        )
