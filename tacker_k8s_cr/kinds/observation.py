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

    :param sign: everything that progress would change: while it stays the
        same, and the verdict has an error, the object is stalled.
    :param still: since when it has.
    :param stall_timeout: seconds, if the object or its kind defines them.
    :param first: nothing has moved since the first view.
    :param ephemeral: once current, the object may be deleted.
    """

    verdict: Verdict
    sign: tuple[Any, ...] = ()
    still: float = 0.0
    stall_timeout: float | None = None
    first: bool = False
    ephemeral: bool = False


UNSEEN = Observation(Verdict(State.IN_PROGRESS, "nothing heard of it yet"))


def observe(
    obj: Manifest,
    kind: Handler,
    last: Observation,
    now: float,
    *,
    wanted: bool,
    asked: Handler | None = None,
) -> Observation:
    """The view, after the last one.

    :param wanted: whether the object is to be current, and not to go.
    :param asked: the kind's handler as a request wants it to judge.
    """
    handler = _handler(obj, kind, asked)
    verdict = handler.assess(obj)
    if (
        wanted
        and handler.ephemeral
        and verdict.state is State.TERMINATING
        and (lived := handler.assess(_undeleted(obj))).state is State.CURRENT
    ):
        verdict = lived
    sign = (verdict.state, verdict.error, *progress_fingerprint(obj))
    still = last.still if last.sign == sign else now
    first = not last.sign or (last.first and last.sign == sign)
    limit = stall_timeout(obj, asked or kind)
    return Observation(
        verdict, sign, still, limit, first, ephemeral=handler.ephemeral
    )


def _handler(obj: Manifest, kind: Handler, asked: Handler | None) -> Handler:
    """The kind's, as the object's own annotations or a request change it.

    Those of a manifest were checked; another client may have edited the
    object since, which must not end the wait for all objects.
    """
    if not objects.has_annotations(obj):
        return asked or kind
    try:
        return generic.of_annotations(obj, kind) or asked or kind
    except errors.PackageInvalid:
        return asked or kind


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
    told = tuple(
        (kind, item.get("status"), item.get("reason"))
        for kind, item in sorted(objects.conditions(obj).items())
    )
    return (objects.generation(obj), numbers, told)
