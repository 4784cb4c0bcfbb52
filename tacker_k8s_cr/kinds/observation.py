"""What one view of an object shows, beside the view before it."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_k8s_cr.kinds import generic
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict


@dataclasses.dataclass(frozen=True)
class Observation:
    """The last view of an object.

    :param fingerprint: everything that progress would change: while it stays
        the same, and the verdict has an error, the object is stalled.
    :param unchanged_since: when the fingerprint changed last.
    :param stall_timeout: seconds, if the object or its kind defines them.
    :param is_first: nothing has moved since the first view.
    :param ephemeral: once current, the object may be deleted.
    """

    verdict: Verdict
    fingerprint: tuple[Any, ...] = ()
    unchanged_since: float = 0.0
    stall_timeout: float | None = None
    is_first: bool = False
    ephemeral: bool = False


UNSEEN = Observation(Verdict(State.IN_PROGRESS, "nothing heard of it yet"))


def observe(
    obj: Manifest,
    kind: Handler,
    last: Observation,
    now: float,
    *,
    expected: bool,
    override: Handler | None = None,
) -> Observation:
    """The view, after the last one.

    :param expected: whether the object is to be current, and not to go.
    :param override: the kind's handler as a request wants it to judge.
    """
    handler = _handler(obj, kind, override)
    verdict = handler.assess(obj)
    if (
        expected
        and handler.ephemeral
        and verdict.state is State.TERMINATING
        and (undeleted := handler.assess(_undeleted(obj))).state
        is State.CURRENT
    ):
        verdict = undeleted
    fingerprint = (verdict.state, verdict.error, *progress_fingerprint(obj))
    unchanged_since = (
        last.unchanged_since if last.fingerprint == fingerprint else now
    )
    is_first = not last.fingerprint or (
        last.is_first and last.fingerprint == fingerprint
    )
    return Observation(
        verdict,
        fingerprint,
        unchanged_since,
        stall_timeout(obj, override or kind),
        is_first,
        handler.ephemeral,
    )


def _handler(
    obj: Manifest, kind: Handler, override: Handler | None
) -> Handler:
    """The kind's, as the object's own annotations or a request change it.

    Those of a manifest were checked; another client may have edited the
    object since, which must not end the wait for all objects.
    """
    if not objects.has_annotations(obj):
        return override or kind
    try:
        return generic.from_annotations(obj, kind) or override or kind
    except errors.PackageInvalid:
        return override or kind


def _undeleted(obj: Manifest) -> Manifest:
    """Return the object as if its deletion had not been requested."""
    metadata = dict(obj["metadata"])
    metadata.pop("deletionTimestamp", None)
    return {**obj, "metadata": metadata}


def stall_timeout(obj: Manifest, kind: Handler) -> float | None:
    """Return the seconds of the annotation ``stall-timeout``, or the kind's.

    None means that the limit of the operation applies.
    """
    annotated = objects.annotation(obj, "stall-timeout")
    try:
        return float(annotated) if annotated else kind.stall_timeout
    except ValueError:
        return kind.stall_timeout


def progress_fingerprint(obj: Manifest) -> tuple[Any, ...]:
    """What changes when a controller gets on: not messages, nor times."""
    status = obj.get("status") or {}
    if not isinstance(status, Mapping):
        return (objects.generation(obj),)
    numbers = tuple(
        (key, value)
        for key, value in sorted(status.items())
        if isinstance(value, int | bool)
    )
    conditions = tuple(
        (kind, item.get("status"), item.get("reason"))
        for kind, item in sorted(objects.conditions(obj).items())
    )
    return (objects.generation(obj), numbers, conditions)
