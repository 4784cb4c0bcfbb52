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
from tacker_k8s_cr.plan.plan import Apply

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class ApplyResult:
    """An object as the apply left it, and the effect of the apply.

    :param left: fields that were left to other managers: by path, the manager.
    """

    ref: ObjectRef
    obj: Manifest
    action: Action
    left: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def note(self) -> str:
        """Fields left to other managers, in words; empty where none were."""
        return "; ".join(
            f"field {path} is left to {manager}"
            for path, manager in sorted(self.left.items())
        )


@dataclasses.dataclass(frozen=True)
class Unwritten:
    """What a round of applies has not written.

    :param refused: what the server did not accept yet, with its answer.
    :param held: objects that depend on others and were not sent: why.
    """

    refused: Mapping[ObjectRef, errors.DependencyMissing]
    held: Mapping[ObjectRef, str]


class ApplyInterrupted(Exception):
    """A stage that stopped half way, with all that it had written."""

    def __init__(self, written: Sequence[ApplyResult], cause: Error):
        self.written = tuple(written)
        self.cause = cause
        super().__init__(str(cause))


@dataclasses.dataclass(frozen=True)
class ApplyHooks:
    """What an apply asks and reports in the course of an operation.

    :param guard: raises when no more requests may be sent.
    :param ready: whether the dependencies of a step are current.
    :param took: called with what each round has written.
    :param on_unwritten: called with what each round has not written. Raises
        ObjectsFailed when further attempts cannot succeed.
    :param sleep: waits for that many seconds, or until a step that was held
        is ready. Raises the error that ends the operation.
    """

    guard: Callable[[], None] = lambda: None
    ready: Callable[[Apply], bool] = lambda step: True
    took: Callable[[Sequence[ApplyResult]], None] = lambda written: None
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
    brought: Collection[tuple[str, str]] | None = None,
) -> tuple[ApplyResult, ...]:
    """Apply all of the steps; those of a rank are sent together.

    A step that is not possible yet, because another object of the package
    has to come first, is retried until the deadline and does not delay
    other steps. Raises Halted at the first refusal, and at the deadline
    with all that is not written.

    :param field_conflicts: what to do about fields of other field managers,
        unless the object specifies it.
    :param brought: ``dry_run.names`` of all that the package contains, if
        known. Nothing else is waited for.
    """
    done: list[ApplyResult] = []
    left = list(steps)
    last: dict[ObjectRef, errors.DependencyMissing] = {}
    tries = 0

    def one(step: Apply) -> ApplyResult:
        hooks.guard()
        try:
            return _one(cluster, step, manager, field_conflicts)
        except errors.DependencyMissing as error:
            if brought is None:
                raise
            raise dry_run.unless_absent(step.ref, error, brought) from None

    while left:
        free: list[Apply] = []
        held: list[Apply] = []
        for step in left:
            (free if hooks.ready(step) else held).append(step)
        before = len(done)
        try:
            waiting = _round(cluster, one, free, done, last)
        finally:
            hooks.took(done[before:])
        last = {step.ref: error for step, error in waiting}
        moved = len(done) > before
        tries = 0 if moved else tries + 1
        left = held + [step for step, _ in waiting]
        if not left:
            break
        if deadline.expired:
            raise ApplyInterrupted(done, _late(waiting, held))
        if moved and any(map(hooks.ready, held)):
            continue
        delay = backoff.APPLY.delay(tries + 1)
        seconds = min(delay, deadline.remaining)
        try:
            hooks.on_unwritten(
                Unwritten(
                    last, {step.ref: _describe_needs(step) for step in held}
                )
            )
            hooks.sleep(seconds if waiting else deadline.remaining)
        except (errors.ReadinessTimeout, errors.ObjectsFailed) as error:
            named = {item.ref for item in error.unsettled}
            error.unwritten = {
                ref: why
                for ref, why in _late(waiting, held).unwritten.items()
                if ref not in named
            }
            raise
        if deadline.expired:
            raise ApplyInterrupted(done, _late(waiting, held))
    return tuple(done)


def _describe_needs(step: Apply) -> str:
    return f"it depends on {', '.join(map(str, sorted(step.after)))}"


def _late(
    waiting: Sequence[tuple[Apply, errors.DependencyMissing]],
    held: Sequence[Apply],
) -> errors.DependencyMissing:
    """What was not possible in time, with what depends on the rest."""
    found = [error for _, error in waiting] + [
        errors.DependencyMissing(step.ref, _describe_needs(step))
        for step in held
    ]
    first, *also = found
    first.also = tuple(also)
    first.late = True
    return first


def _round(
    cluster: Cluster,
    one: Callable[[Apply], ApplyResult],
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
        return one(step)

    by_rank = sorted(steps, key=lambda step: step.rank)
    for _, same_rank in itertools.groupby(by_rank, lambda step: step.rank):
        for step, outcome in cluster.map_parallel(
            unless_refused, tuple(same_rank)
        ):
            if isinstance(outcome, errors.DependencyMissing):
                waiting.append((step, outcome))
            elif _is_too_late(outcome):
                late = errors.DependencyMissing(step.ref, "not sent")
                waiting.append((step, last.get(step.ref, late)))
            elif isinstance(outcome, Error):
                refused.append(outcome)
            else:
                done.append(outcome)
        if refused:
            raise ApplyInterrupted(done, refused[0])
    return waiting


def _is_too_late(outcome: ApplyResult | Error) -> bool:
    return isinstance(outcome, errors.Unavailable) and not outcome.was_sent


def _one(
    cluster: Cluster, step: Apply, manager: str, usual: str
) -> ApplyResult:
    if step.terminating:
        _refuse_while_going(step, cluster.get_metadata(step.ref))
    # What is meant to be new is never forced upon what is there.
    way = (
        conflict_strategy.strategy_for(step.manifest, usual)
        if step.uid
        else conflict_strategy.FAIL
    )
    left: dict[str, str] = {}
    try:
        result = conflict_strategy.apply_with_strategy(
            lambda manifest, force: cluster.apply(
                manifest, manager, uid=step.uid, force=force
            ),
            step.manifest,
            way,
            ".".join(step.replicas_path),
            left.update,
        )
    except errors.KindNotServed as error:
        # All kinds of a package were known, or brought by it, when it was
        # looked at: one that is not served for a moment comes back.
        raise errors.DependencyMissing(step.ref, error.sentence()) from error
    except errors.FieldConflict as error:
        theirs = None if step.uid else cluster.get_metadata(step.ref)
        if theirs is None:
            raise
        _refuse_while_going(step, theirs)
        raise errors.OwnedByOther(
            {step.ref: ownership.foreign_owner(theirs)}
        ) from error
    if result.created:
        return ApplyResult(step.ref, result.obj, Action.CREATED)
    if not step.uid:
        _refuse_if_twin(step, result.obj, manager)
        theirs = release_fields(cluster, step.manifest, manager)
        _refuse_while_going(step, theirs)
        raise errors.OwnedByOther({step.ref: ownership.foreign_owner(theirs)})
    version = objects.field(result.obj, ("metadata", "resourceVersion"))
    same = version == step.resource_version
    action = Action.UNCHANGED if same else Action.CONFIGURED
    written = ApplyResult(step.ref, result.obj, action, left)
    if left:
        LOG.info("%s: %s", step.ref, written.note)
    return written


def _refuse_while_going(step: Apply, obj: Manifest | None) -> None:
    """Raise DependencyMissing while an object of that name is deleted."""
    if objects.field(obj, ("metadata", "deletionTimestamp")):
        raise errors.DependencyMissing(
            step.ref, "an object of that name is still going"
        )


def _refuse_if_twin(step: Apply, obj: Manifest, manager: str) -> None:
    """Another run of the same operation made it: it is not to be undone."""
    if ownership.created_by_manager(obj, manager):
        instance = manager.removeprefix(objects.MANAGER)
        raise errors.OperationInProgress(
            instance, f"whoever has just made {step.ref}"
        )


def release_fields(
    cluster: Cluster, manifest: Manifest, manager: str, uid: str = ""
) -> Manifest:
    """Undo an apply that met another client's object; return the object.

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
