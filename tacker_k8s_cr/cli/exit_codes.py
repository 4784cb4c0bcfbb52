"""Convert an error to an exit code, a message and a value for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import enum
from typing import Any

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import retries
from tacker_k8s_cr.model.errors import PendingObject
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.errors.results import pending_lines
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.retries import Retries
from tacker_k8s_cr.wait.progress import Goal
from tacker_k8s_cr.wait.progress import WaitState


class Exit(enum.IntEnum):
    """The exit codes. They are documented and do not change."""

    DONE = 0
    INTERNAL_ERROR = 1
    REFUSED = 2
    FAILED = 3
    TIMED_OUT = 4
    DRIFTED = 5
    INTERRUPTED = 130


@dataclasses.dataclass(frozen=True)
class ErrorResult:
    """The result of an operation that did not succeed.

    :param written: objects that it wrote and that still exist.
    :param unsettled: objects that have not reached the wanted state.
    :param details: every fault with its place; the message names some of them.
    :param not_written: objects that were still to be written, with the reason
        and the end of the attempts.
    """

    type: str
    exit: Exit
    message: str
    written: Sequence[ObjectRef] = ()
    unsettled: Sequence[PendingObject] = ()
    details: Sequence[Problem] = ()
    not_written: Sequence[Mapping[str, Any]] = ()

    def as_dict(self) -> Mapping[str, Any]:
        """Return plain values for JSON."""
        return {
            "type": self.type,
            "exit": int(self.exit),
            "message": self.message,
            "details": [problem.as_dict() for problem in self.details],
            "written": [_ref(ref) for ref in self.written],
            "unsettled": [
                {
                    **_ref(item.ref),
                    "state": item.verdict.state.value,
                    "reason": item.verdict.reason,
                    "age": round(item.age, 3),
                    "notes": list(item.notes),
                }
                for item in self.unsettled
            ],
            "not_written": list(self.not_written),
        }


_ENDED_BY_TIME = (
    errors.KindNotServed,
    errors.DependencyMissing,
    errors.Unavailable,
    errors.Unreachable,
)
"""Errors that an operation retries, and raises at the deadline."""


def of_error(
    error: errors.Error,
    late: bool = False,
    progress: WaitState | None = None,
    now: float = 0.0,
    advice: str = "",
) -> ErrorResult:
    """Return the result for an error.

    :param late: whether the deadline of the operation had passed.
    :param progress: the last progress of the operation.
    :param now: the current time on the clock of the deadline.
    :param advice: what to do next; the last lines of the message.
    """
    retried = progress.unwritten if progress else {}
    unwritten: Mapping[ObjectRef, str] = getattr(error, "unwritten", {})
    return ErrorResult(
        type(error).__name__,
        _exit(error, late),
        "\n".join(filter(None, (str(error), advice))),
        error.written,
        getattr(error, "pending", ()),
        error.details,
        not_written=_list_not_written(unwritten, retried, now),
    )


def _exit(error: errors.Error, late: bool) -> Exit:
    if isinstance(error, errors.ReadinessTimeout | errors.DeletionTimeout):
        return Exit.TIMED_OUT
    if error.deadline_passed or (late and isinstance(error, _ENDED_BY_TIME)):
        return Exit.TIMED_OUT
    if error.has_written or isinstance(
        error, errors.ObjectsFailed | errors.RollbackIncomplete
    ):
        return Exit.FAILED
    return Exit.REFUSED


def of_interrupt(
    operation: str, instance: str, progress: WaitState | None, now: float
) -> ErrorResult:
    """Return the result of an operation that a signal interrupted.

    :param progress: the last progress; None if nothing was written yet.
    """
    what = f"{operation} {instance}: interrupted"
    if progress is None or not (progress.awaited or progress.unwritten):
        return ErrorResult(
            "Interrupted",
            Exit.INTERRUPTED,
            f"{what}; as far as is known, before anything was written",
        )
    unsettled = [
        PendingObject(
            ref,
            progress.verdict(ref, now),
            now - progress.awaited[ref].since,
        )
        for ref in progress.unsettled
    ]
    unwritten = {ref: item.why for ref, item in progress.unwritten.items()}
    goal = progress.goal.value
    count = len(progress.awaited) + len(unwritten)
    done = len(progress.awaited) - len(unsettled)
    lines = [
        f"{what}; {done} of {count} object(s) {goal}"
        + (":" if unsettled or unwritten else ""),
        *pending_lines(unsettled, unwritten),
        f"The record of {instance} contains the progress: status shows it, "
        "the same command continues from there, terminate deletes everything.",
    ]
    written = () if progress.goal is Goal.DELETED else tuple(progress.awaited)
    return ErrorResult(
        "Interrupted",
        Exit.INTERRUPTED,
        "\n".join(lines),
        written,
        unsettled,
        not_written=_list_not_written(unwritten, progress.unwritten, now),
    )


def internal_error(error: Exception) -> ErrorResult:
    """Return the result for an exception of another class.

    Its text is omitted, since it may quote the data that was read. The place
    is sufficient to find the defect.
    """
    where = ""
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "?")
        if str(name).partition(".")[0] == __name__.partition(".")[0]:
            where = f" in {name}, line {trace.tb_lineno}"
        trace = trace.tb_next
    kind = type(error).__name__
    return ErrorResult(
        kind,
        Exit.INTERNAL_ERROR,
        f"a defect of tacker-k8s-cr: {kind}{where}; please report it with "
        "the output of the same command with --debug",
    )


def _list_not_written(
    whys: Mapping[ObjectRef, str], retried: Retries, now: float
) -> Sequence[Mapping[str, Any]]:
    """Return the objects that are not written, as plain values."""
    found = []
    clock = datetime.datetime.now(datetime.timezone.utc)
    for ref, why in whys.items():
        retry = retried.get(ref)
        until = retries.to_datetime(retry.until, now, clock) if retry else None
        found.append(
            {
                **_ref(ref),
                "reason": why,
                "until": f"{until:%Y-%m-%dT%H:%M:%SZ}" if until else None,
                "limit": retry.limit if retry else None,
            }
        )
    return found


def _ref(ref: ObjectRef) -> dict[str, str]:
    return ref._asdict()
