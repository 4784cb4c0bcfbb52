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

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import ownership
from tacker_k8s_cr.applying import conflicts
from tacker_k8s_cr.applying import trial
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.errors import Error
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning.plan import Apply
from tacker_k8s_cr.report import Action

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Written:
    """An object as our apply left it, and what the apply did.

    :param left: fields that were left to other managers: by path, to whom.
    """

    ref: ObjectRef
    obj: Manifest
    action: Action
    left: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def note(self) -> str:
        """What was left to whom, in words; empty where nothing was."""
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

    refused: Mapping[ObjectRef, errors.NotYet]
    held: Mapping[ObjectRef, str]


class Halted(Exception):
    """A stage that stopped half way, with all that it had written."""

    def __init__(self, written: Sequence[Written], cause: Error):
        self.written = tuple(written)
        self.cause = cause
        super().__init__(str(cause))


def applied(
    cluster: Cluster,
    steps: Sequence[Apply],
    manager: str,
    deadline: Deadline,
    *,
    conflict: str = conflicts.FAIL,
    guard: Callable[[], None] = lambda: None,
    ready: Callable[[Apply], bool] = lambda step: True,
    took: Callable[[Sequence[Written]], None] = lambda written: None,
    on_unwritten: Callable[[Unwritten], None] = lambda unwritten: None,
    sleep: Callable[[float], None] = time.sleep,
    brought: Collection[tuple[str, str]] | None = None,
) -> tuple[Written, ...]:
    """Apply all of the steps; those of a rank are sent together.

    A step that is not possible yet, because another object of the package
    has to come first, is retried until the deadline and does not delay
    other steps. Raises Halted at the first refusal, and at the deadline
    with all that is not written.

    :param conflict: what to do about fields of other field managers, unless
        the object specifies it.
    :param guard: raises when no more requests may be sent.
    :param ready: whether the dependencies of a step are current.
    :param took: called with what each round has written.
    :param on_unwritten: called with what each round has not written. Raises
        Failed when further attempts cannot succeed.
    :param sleep: waits for that many seconds, or until a step that was held
        is ready. Raises the error that ends the operation.
    :param brought: ``trial.names`` of all that the package contains, if
        known. Nothing else is waited for.
    """
    done: list[Written] = []
    left = list(steps)
    last: dict[ObjectRef, errors.NotYet] = {}
    tries = 0

    def one(step: Apply) -> Written:
        guard()
        try:
            return _one(cluster, step, manager, conflict)
        except errors.NotYet as error:
            if brought is None:
                raise
            raise trial.unless_absent(step.ref, error, brought) from None

    while left:
        free: list[Apply] = []
        held: list[Apply] = []
        for step in left:
            (free if ready(step) else held).append(step)
        before = len(done)
        try:
            waiting = _round(cluster, one, free, done, last)
        finally:
            took(done[before:])
        last = {step.ref: error for step, error in waiting}
        moved = len(done) > before
        tries = 0 if moved else tries + 1
        left = held + [step for step, _ in waiting]
        if not left:
            break
        if deadline.passed:
            raise Halted(done, _late(waiting, held))
        if moved and any(map(ready, held)):
            continue
        seconds = min(LONGEST, FIRST * 2.0 ** min(tries, 10), deadline.left)
        try:
            on_unwritten(
                Unwritten(
                    last, {step.ref: _describe_needs(step) for step in held}
                )
            )
            sleep(seconds if waiting else deadline.left)
        except (errors.NotReady, errors.Failed) as error:
            named = {item.ref for item in error.unsettled}
            error.unwritten = {
                ref: why
                for ref, why in _late(waiting, held).unwritten.items()
                if ref not in named
            }
            raise
        if deadline.passed:
            raise Halted(done, _late(waiting, held))
    return tuple(done)


FIRST, LONGEST = 0.25, 5.0
"""Seconds between two tries: longer each time, unless something moved."""


def _describe_needs(step: Apply) -> str:
    return f"it depends on {', '.join(map(str, sorted(step.after)))}"


def _late(
    waiting: Sequence[tuple[Apply, errors.NotYet]], held: Sequence[Apply]
) -> errors.NotYet:
    """What was not possible in time, with what depends on the rest."""
    found = [error for _, error in waiting] + [
        errors.NotYet(step.ref, _describe_needs(step)) for step in held
    ]
    first, *also = found
    first.also = tuple(also)
    first.late = True
    return first


def _round(
    cluster: Cluster,
    one: Callable[[Apply], Written],
    steps: Sequence[Apply],
    done: list[Written],
    last: Mapping[ObjectRef, errors.NotYet],
) -> list[tuple[Apply, errors.NotYet]]:
    """Try every step once, rank by rank, and add the results to ``done``.

    :param last: the results of the previous round. They give the reason for
        steps that are not sent because the deadline passes in this one.
    """
    waiting: list[tuple[Apply, errors.NotYet]] = []
    refused: list[Error] = []

    def unless_refused(step: Apply) -> Written:
        if refused:
            raise errors.NotYet(step.ref, "not sent, as another was refused")
        return one(step)

    by_rank = sorted(steps, key=lambda step: step.rank)
    for _, same_rank in itertools.groupby(by_rank, lambda step: step.rank):
        for step, outcome in cluster.each(unless_refused, tuple(same_rank)):
            if isinstance(outcome, errors.NotYet):
                waiting.append((step, outcome))
            elif _is_too_late(outcome):
                late = errors.NotYet(step.ref, "not sent")
                waiting.append((step, last.get(step.ref, late)))
            elif isinstance(outcome, Error):
                refused.append(outcome)
            else:
                done.append(outcome)
        if refused:
            raise Halted(done, refused[0])
    return waiting


def _is_too_late(outcome: Written | Error) -> bool:
    return isinstance(outcome, errors.Unavailable) and not outcome.was_sent


def _one(cluster: Cluster, step: Apply, manager: str, usual: str) -> Written:
    if step.going:
        _refuse_while_going(step, cluster.get_metadata(step.ref))
    # What is meant to be new is never forced upon what is there.
    way = conflicts.way(step.manifest, usual) if step.uid else conflicts.FAIL
    left: dict[str, str] = {}
    try:
        result = conflicts.sent(
            lambda manifest, force: cluster.apply(
                manifest, manager, uid=step.uid, force=force
            ),
            step.manifest,
            way,
            ".".join(step.count),
            left.update,
        )
    except errors.KindUnknown as error:
        # All kinds of a package were known, or brought by it, when it was
        # looked at: one that is not served for a moment comes back.
        raise errors.NotYet(step.ref, error.sentence()) from error
    except errors.Conflict as error:
        theirs = None if step.uid else cluster.get_metadata(step.ref)
        if theirs is None:
            raise
        _refuse_while_going(step, theirs)
        raise errors.Owned({step.ref: ownership.owner(theirs)}) from error
    if result.created:
        return Written(step.ref, result.obj, Action.CREATED)
    if not step.uid:
        _refuse_if_twin(step, result.obj, manager)
        theirs = given_up(cluster, step.manifest, manager)
        _refuse_while_going(step, theirs)
        raise errors.Owned({step.ref: ownership.owner(theirs)})
    version = objects.field(result.obj, ("metadata", "resourceVersion"))
    same = version == step.version
    action = Action.UNCHANGED if same else Action.CONFIGURED
    written = Written(step.ref, result.obj, action, left)
    if left:
        LOG.info("%s: %s", step.ref, written.note)
    return written


def _refuse_while_going(step: Apply, obj: Manifest | None) -> None:
    """An object that is asked to go makes room for ours in a while."""
    if objects.field(obj, ("metadata", "deletionTimestamp")):
        raise errors.NotYet(step.ref, "an object of that name is still going")


def _refuse_if_twin(step: Apply, obj: Manifest, manager: str) -> None:
    """Another run of the same operation made it: it is not to be undone."""
    if ownership.made_by(obj, manager):
        instance = manager.removeprefix(objects.MANAGER)
        raise errors.Busy(instance, f"whoever has just made {step.ref}")


def given_up(
    cluster: Cluster, manifest: Manifest, manager: str, uid: str = ""
) -> Manifest:
    """Take back an apply that met an object of somebody else; the object.

    Applying the bare object under our manager removes the fields that only
    we have set; where nothing was forced, all others were theirs before and
    are still (the server's rule for fields left out of an apply).
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
