"""Apply the objects of one stage, in rounds, until all are written."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
import time

from tacker_k8s_cr.engine import apply_object
from tacker_k8s_cr.engine import dry_run
from tacker_k8s_cr.engine.apply_object import ApplyResult
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import backoff
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import conflict_strategy
from tacker_k8s_cr.plan.steps import Apply


@dataclasses.dataclass(frozen=True)
class Unwritten:
    """The objects that a round of applies has not written.

    :param refused: objects that the server did not accept yet, with the error.
    :param held: objects that depend on others and were not sent, with the
        reason.
    """

    refused: Mapping[ObjectRef, errors.DependencyMissing]
    held: Mapping[ObjectRef, str]


class ApplyInterrupted(Exception):
    """A stage that stopped early, with everything that it had written."""

    def __init__(self, written: Sequence[ApplyResult], cause: Error):
        self.written = tuple(written)
        self.cause = cause
        super().__init__(str(cause))


@dataclasses.dataclass(frozen=True)
class ApplyHooks:
    """Callbacks of an apply to the operation that runs it.

    :param guard: raises when no more requests may be sent.
    :param is_ready: whether the dependencies of a step are current.
    :param on_written: called with what each round has written.
    :param on_unwritten: called with what each round has not written. Raises
        ObjectsFailed when further attempts cannot succeed.
    :param sleep: waits for that many seconds, or until a step that was held
        is ready. Raises the error that ends the operation.
    """

    guard: Callable[[], None] = lambda: None
    is_ready: Callable[[Apply], bool] = lambda step: True
    on_written: Callable[[Sequence[ApplyResult]], None] = lambda written: None
    on_unwritten: Callable[[Unwritten], None] = lambda unwritten: None
    sleep: Callable[[float], None] = time.sleep


def apply_all(
    cluster: Cluster,
    steps: Sequence[Apply],
    manager: str,
    deadline: Deadline,
    hooks: ApplyHooks,
    *,
    field_conflicts: str = conflict_strategy.FAIL,
    packaged: Collection[tuple[str, str]] | None = None,
) -> tuple[ApplyResult, ...]:
    """Apply all of the steps; those of a rank are sent together.

    A step that is not possible yet, because another object of the package
    has to come first, is retried until the deadline and does not delay
    other steps. Raises ApplyInterrupted at the first refusal, and at the
    deadline with all objects that are not written.

    :param field_conflicts: what to do about fields of other field managers,
        unless the object specifies it.
    :param packaged: ``dry_run.names_of`` the package's objects, if
        known. Nothing else is waited for.
    """
    done: list[ApplyResult] = []
    remaining = list(steps)
    last: dict[ObjectRef, errors.DependencyMissing] = {}
    idle_rounds = 0

    def apply_step(step: Apply) -> ApplyResult:
        hooks.guard()
        try:
            return apply_object.apply_object(
                cluster, step, manager, field_conflicts
            )
        except errors.DependencyMissing as error:
            if packaged is None:
                raise
            raise dry_run.refuse_if_unresolvable(
                step.ref, error, packaged
            ) from None

    while remaining:
        sendable: list[Apply] = []
        held: list[Apply] = []
        for step in remaining:
            (sendable if hooks.is_ready(step) else held).append(step)
        before = len(done)
        try:
            waiting = _apply_round(cluster, apply_step, sendable, done, last)
        finally:
            hooks.on_written(done[before:])
        last = {step.ref: error for step, error in waiting}
        progressed = len(done) > before
        idle_rounds = 0 if progressed else idle_rounds + 1
        remaining = held + [step for step, _ in waiting]
        if not remaining:
            break
        if deadline.expired:
            raise ApplyInterrupted(done, _timeout_error(waiting, held))
        if progressed and any(map(hooks.is_ready, held)):
            continue
        delay = backoff.APPLY.delay(idle_rounds + 1)
        seconds = min(delay, deadline.remaining)
        try:
            hooks.on_unwritten(
                Unwritten(
                    last, {step.ref: _describe_needs(step) for step in held}
                )
            )
            hooks.sleep(seconds if waiting else deadline.remaining)
        except (errors.ReadinessTimeout, errors.ObjectsFailed) as error:
            reported = {item.ref for item in error.pending}
            error.unwritten = {
                ref: why
                for ref, why in _timeout_error(waiting, held).unwritten.items()
                if ref not in reported
            }
            raise
        if deadline.expired:
            raise ApplyInterrupted(done, _timeout_error(waiting, held))
    return tuple(done)


def _describe_needs(step: Apply) -> str:
    return f"it depends on {', '.join(map(str, sorted(step.after)))}"


def _timeout_error(
    waiting: Sequence[tuple[Apply, errors.DependencyMissing]],
    held: Sequence[Apply],
) -> errors.DependencyMissing:
    """Return the error for all steps that were not written in time."""
    missing = [error for _, error in waiting] + [
        errors.DependencyMissing(step.ref, _describe_needs(step))
        for step in held
    ]
    first, *also = missing
    first.others = tuple(also)
    first.deadline_passed = True
    return first


def _apply_round(
    cluster: Cluster,
    apply_step: Callable[[Apply], ApplyResult],
    steps: Sequence[Apply],
    done: list[ApplyResult],
    last: Mapping[ObjectRef, errors.DependencyMissing],
) -> list[tuple[Apply, errors.DependencyMissing]]:
    """Try every step once, rank by rank, and add the results to ``done``.

    :param last: the results of the previous round. They give the reason for
        steps that are not sent because the deadline passes in this one.
    """
    waiting: list[tuple[Apply, errors.DependencyMissing]] = []
    refused: list[Error] = []

    def unless_refused(step: Apply) -> ApplyResult:
        if refused:
            raise errors.DependencyMissing(
                step.ref, "not sent, as another was refused"
            )
        return apply_step(step)

    by_rank = sorted(steps, key=lambda step: step.rank)
    for _, same_rank in itertools.groupby(by_rank, lambda step: step.rank):
        for step, outcome in cluster.map_parallel(
            unless_refused, tuple(same_rank)
        ):
            if isinstance(outcome, errors.DependencyMissing):
                waiting.append((step, outcome))
            elif _is_unsent(outcome):
                late = errors.DependencyMissing(step.ref, "not sent")
                waiting.append((step, last.get(step.ref, late)))
            elif isinstance(outcome, Error):
                refused.append(outcome)
            else:
                done.append(outcome)
        if refused:
            raise ApplyInterrupted(done, refused[0])
    return waiting


def _is_unsent(outcome: ApplyResult | Error) -> bool:
    return isinstance(outcome, errors.Unavailable) and not outcome.was_sent
