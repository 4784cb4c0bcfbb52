"""What became of the objects when it was not what was wanted."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.errors import problems
from tacker_k8s_cr.errors.problems import Problem
from tacker_k8s_cr.errors.root import Error
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict

_ENDED = frozenset({State.FAILED, State.BLOCKED})


@dataclasses.dataclass(frozen=True)
class Unsettled:
    """An object that is not where it should be, and all that explains it.

    :param age: seconds since we wrote it, or asked it to go.
    :param notes: warning events, and words of what it made or uses.
    """

    ref: ObjectRef
    verdict: Verdict
    age: float
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.ref}: {self.verdict} (for {self.age:.0f} s)"]
        return "\n    ".join([*lines, *self.notes])


def listing(
    unsettled: Sequence[Unsettled], unwritten: Mapping[ObjectRef, str]
) -> list[str]:
    """Return a limited number of indented lines, those with an error first.

    :param unwritten: objects that are not written, with the reason.
    """
    lines = [f"  {item}" for item in _ordered(unsettled)]
    waiting = [
        Problem("", f"not written: {why}", ref)
        for ref, why in unwritten.items()
    ]
    return [
        *problems.limited(lines, "more objects", "  "),
        *(f"  {line}" for line in problems.group(waiting)),
    ]


def _ordered(unsettled: Sequence[Unsettled]) -> list[Unsettled]:
    return sorted(
        unsettled,
        key=lambda item: (
            item.verdict.state not in _ENDED and not item.verdict.error
        ),
    )


@dataclasses.dataclass(eq=False)
class _WithUnsettled(Error):
    """Objects that were waited for in vain.

    :param unwritten: objects that waited for these or for something else,
        with the reason.
    """

    start = "{}"

    unsettled: Sequence[Unsettled]
    seconds: float
    unwritten: Mapping[ObjectRef, str] = dataclasses.field(
        default_factory=dict
    )

    def sentence(self) -> str:
        return "\n".join(
            [self._start(), *listing(self.unsettled, self.unwritten)]
        )

    def full_sentence(self) -> str:
        return "\n".join(
            [
                self._start(),
                *(f"  {item}" for item in _ordered(self.unsettled)),
                *(
                    f"  {ref}: not written: {why}"
                    for ref, why in self.unwritten.items()
                ),
            ]
        )

    def _start(self) -> str:
        return self.start.format(len(self.unsettled), self.seconds)


class NotReady(_WithUnsettled):
    """The deadline passed with objects not current."""

    start = "{} object(s) not current after {:.0f} s:"


class NotGone(_WithUnsettled):
    """The deadline passed with objects still there."""

    start = "{} object(s) not gone after {:.0f} s:"


class Failed(_WithUnsettled):
    """Objects failed, or are blocked: waiting longer would not help."""

    start = "{} object(s) failed or are blocked, after {:.0f} s:"


@dataclasses.dataclass(eq=False)
class NotCleared(Error):
    """A Cluster that stays, as its workload cluster was not cleared first."""

    ref: ObjectRef
    why: str

    def sentence(self) -> str:
        return (
            f"{self.ref}: it was not deleted, since what was to be removed in "
            f"its workload cluster before is still there: {self.why}\n"
            "To delete it all the same, ask for nothing to be cleared"
        )
