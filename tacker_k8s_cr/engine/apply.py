"""Carry out the applies of one stage."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
import logging
import time

from tacker_k8s_cr.engine import dry_run
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import backoff
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import ownership
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan import conflict_strategy
from tacker_k8s_cr.plan.steps import Apply

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class ApplyResult:
    """An object after its apply, and the effect of the apply.

    :param foreign_fields: by path, the manager of a field that was not
        changed.
    """

    ref: ObjectRef
    obj: Manifest
    action: Action
    foreign_fields: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def note(self) -> str:
        """Return the fields left to other managers as a text, or nothing."""
        return "; ".join(
            f"field {path} is left to {manager}"
            for path, manager in sorted(self.foreign_fields.items())
        )


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
            return _apply_one(cluster, step, manager, field_conflicts)
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
            reported = {item.ref for item in error.unsettled}
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
    first.also = tuple(also)
    first.late = True
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


def _apply_one(
    cluster: Cluster, step: Apply, manager: str, default_strategy: str
) -> ApplyResult:
    if step.terminating:
        _require_not_terminating(step, cluster.get_metadata(step.ref))
    # A new object must never overwrite fields of an existing one.
    strategy = (
        conflict_strategy.strategy_for(step.manifest, default_strategy)
        if step.uid
        else conflict_strategy.FAIL
    )
    foreign_fields: dict[str, str] = {}
    try:
        result = conflict_strategy.apply_with_strategy(
            lambda manifest, force: cluster.apply(
                manifest, manager, uid=step.uid, force=force
            ),
            step.manifest,
            strategy,
            ".".join(step.replicas_path),
            foreign_fields.update,
        )
    except errors.KindNotServed as error:
        # All kinds of a package were served, or defined by it, when it was
        # validated: one that is not served for a moment comes back.
        raise errors.DependencyMissing(step.ref, error.sentence()) from error
    except errors.FieldConflict as error:
        existing = None if step.uid else cluster.get_metadata(step.ref)
        if existing is None:
            raise
        _require_not_terminating(step, existing)
        raise errors.OwnedByOther(
            {step.ref: ownership.foreign_owner(existing)}
        ) from error
    if result.created:
        return ApplyResult(step.ref, result.obj, Action.CREATED)
    if not step.uid:
        _require_not_just_created(step, result.obj, manager)
        existing = release_fields(cluster, step.manifest, manager)
        _require_not_terminating(step, existing)
        raise errors.OwnedByOther(
            {step.ref: ownership.foreign_owner(existing)}
        )
    version = objects.field(result.obj, ("metadata", "resourceVersion"))
    unchanged = version == step.resource_version
    action = Action.UNCHANGED if unchanged else Action.CONFIGURED
    written = ApplyResult(step.ref, result.obj, action, foreign_fields)
    if foreign_fields:
        LOG.info("%s: %s", step.ref, written.note)
    return written


def _require_not_terminating(step: Apply, obj: Manifest | None) -> None:
    """Raise DependencyMissing while an object of that name is deleted."""
    if objects.field(obj, ("metadata", "deletionTimestamp")):
        raise errors.DependencyMissing(
            step.ref, "an object of that name is still being deleted"
        )


def _require_not_just_created(
    step: Apply, obj: Manifest, manager: str
) -> None:
    """Raise if another run of this operation created it just now."""
    if ownership.created_by_manager(obj, manager):
        instance = manager.removeprefix(objects.MANAGER)
        raise errors.OperationInProgress(
            instance, f"another process, which has just created {step.ref}"
        )


def release_fields(
    cluster: Cluster, manifest: Manifest, manager: str, uid: str = ""
) -> Manifest:
    """Undo an apply that found another client's object; return the object.

    Applying the bare object under this field manager removes the fields that
    only it has set; where nothing was forced, all others belonged to other
    managers before and still do (the server's rule for fields left out of an
    apply).
    """
    metadata = manifest["metadata"]
    bare = {
        "apiVersion": manifest["apiVersion"],
        "kind": manifest["kind"],
        "metadata": {
            key: metadata[key]
            for key in ("name", "namespace")
            if key in metadata
        },
    }
    return cluster.apply(bare, manager, uid=uid).obj
