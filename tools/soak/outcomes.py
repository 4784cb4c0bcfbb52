"""What came of a step, and whether that may be: pure."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import enum

from tools.soak import model
from tools.soak.model import Request

AFTER_DEADLINE = 12.0
"""Seconds after its deadline within which an operation returns."""

KILLED = "killed"

BY_FAULTS = frozenset(
    {
        "LockLost",
        "RollbackIncomplete",
        "DryRunFailed",
        "Throttled",
        "Unavailable",
        "Unreachable",
    }
)
"""Errors that a fault of the connection or the server explains."""

OUT_OF_TIME = frozenset(
    {"ReadinessTimeout", "DeletionTimeout", "CleanupFailed"}
)
"""Errors of an operation that reached its deadline."""

REFUSALS = {
    "unknown": frozenset({"InstanceNotFound"}),
    "instantiate": frozenset({"InstanceExists"}),
    "scale": frozenset(
        {
            "NotScalable",
            "AutoscalerConflict",
            "MachineSelectionInvalid",
            "RequestInvalid",
        }
    ),
    "change": frozenset(
        {
            "FieldConflict",
            "OwnedByOther",
            "PackageInvalid",
            "DryRunFailed",
            "Rejected",
        }
    ),
}
"""Errors by which a request is refused that cannot be carried out."""


class Result(enum.Enum):
    """What came of an operation."""

    DONE = "done"
    REFUSED = "refused"
    BUSY = "busy"
    FAILED = "failed"
    KILLED = "killed"
    DISTURBED = "disturbed"
    LATE = "late"
    WRONG = "wrong"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a worker reports of an operation.

    :param error: the name of its error, ``killed``, or empty.
    :param seconds: from the call to the return.
    :param late: the deadline ended the attempts.
    :param remarks: what a read has shown that should not be.
    :param memory: MiB that the process has had at most.
    """

    error: str = ""
    sentence: str = ""
    seconds: float = 0.0
    late: bool = False
    remarks: tuple[str, ...] = ()
    memory: int = 0


@dataclasses.dataclass(frozen=True)
class Circumstances:
    """What may explain an outcome.

    :param faulty: a fault was active at some time of the operation.
    :param contended: another process requested the same at the same time.
    :param absent: the instance had no record.
    :param unclean: a process that was killed may have held the lock.
    """

    faulty: bool = False
    contended: bool = False
    absent: bool = False
    unclean: bool = False


def judge(
    request: Request, outcome: Outcome, circumstances: Circumstances
) -> tuple[Result, str]:
    """Return what came of a request, and why it may not be; or empty."""
    description = f"{outcome.error}: {outcome.sentence}"
    if outcome.error == KILLED:
        if request.kill is None:
            return Result.WRONG, "the process ended without an answer"
        return Result.KILLED, ""
    late = overrun(request, outcome)
    if outcome.remarks:
        return Result.WRONG, "; ".join(outcome.remarks)
    result = _result(request, outcome, circumstances)
    if late:
        return result, late
    if result is Result.WRONG:
        return result, description if outcome.error else "it was not refused"
    return result, ""


def overrun(request: Request, outcome: Outcome) -> str:
    """Return by how much an operation returned too late; or empty."""
    limit = request.seconds + AFTER_DEADLINE
    if outcome.seconds <= limit:
        return ""
    return (
        f"it returned after {outcome.seconds:.1f} s; its deadline was "
        f"{request.seconds:.0f} s, and {AFTER_DEADLINE:.0f} s after that is "
        "the limit"
    )


def _result(
    request: Request, outcome: Outcome, circumstances: Circumstances
) -> Result:
    error = outcome.error
    if not error:
        # What fails by its deadline may be refused in no other way.
        wrong = request.expects != model.DONE
        return Result.WRONG if wrong else Result.DONE
    if circumstances.contended and error in _CONTENDED:
        return Result.BUSY
    if request.expects == model.REFUSED and error in _refusals(
        request, circumstances
    ):
        return Result.REFUSED
    if request.expects == model.FAILS and error in OUT_OF_TIME | {
        "ObjectsFailed"
    }:
        return Result.FAILED
    if circumstances.faulty and error in BY_FAULTS:
        return Result.DISTURBED
    at_deadline = outcome.seconds >= request.seconds - 1
    if (
        at_deadline
        and circumstances.unclean
        and error == "OperationInProgress"
    ):
        # A lock lasts for longer than some requests may.
        return Result.LATE
    if at_deadline and (error in OUT_OF_TIME | BY_FAULTS or outcome.late):
        return Result.LATE
    return Result.WRONG


_CONTENDED = frozenset(
    {
        "OperationInProgress",
        "InstanceExists",
        "InstanceStateConflict",
        "InstanceNotFound",
    }
)


def _refusals(
    request: Request, circumstances: Circumstances
) -> frozenset[str]:
    if circumstances.absent:
        return REFUSALS["unknown"]
    return REFUSALS.get(request.operation, frozenset())


def explain_contention(results: Sequence[Result]) -> str:
    """Return why the results of contending requests may not be; or empty.

    The lock lets one of them work; each other one is refused, or works
    when the first has ended.
    """
    if set(results) != {Result.BUSY}:
        return ""
    return "no request got the lock, and no process held it before"
