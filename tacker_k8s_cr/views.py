"""What one view of an object says, beside the view before it."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.kinds import custom
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict


@dataclasses.dataclass(frozen=True)
class Seen:
    """The last view of an object.

    :param sign: all that would change if something moved: while it stays
        the same, and the verdict has an error, the object stands still.
    :param still: since when it has.
    :param dwell: how long it may, if the object itself says so.
    :param first: nothing has moved since the first view.
    """

    verdict: Verdict
    sign: tuple[Any, ...] = ()
    still: float = 0.0
    dwell: float | None = None
    first: bool = False


UNSEEN = Seen(Verdict(State.IN_PROGRESS, "nothing heard of it yet"))


def seen(
    obj: Manifest,
    kind: Handler,
    last: Seen,
    now: float,
    *,
    wanted: bool,
    asked: Handler | None = None,
) -> Seen:
    """The view, after the last one.

    :param wanted: whether the object is to be current, and not to go.
    :param asked: the kind's handler as a request wants it to judge.
    """
    handler = _handler(obj, kind, asked)
    verdict = handler.assess(obj)
    if (
        wanted
        and handler.fleeting
        and verdict.state is State.TERMINATING
        and (lived := handler.assess(_undeleted(obj))).state is State.CURRENT
    ):
        verdict = lived
    sign = (verdict.state, verdict.error, *moving(obj))
    still = last.still if last.sign == sign else now
    first = not last.sign or (last.first and last.sign == sign)
    return Seen(verdict, sign, still, dwell(obj), first)


def _handler(obj: Manifest, kind: Handler, asked: Handler | None) -> Handler:
    """The kind's, as the object's own annotations or a request change it.

    Those of a manifest were checked; somebody may have edited the
    object since, which must not end the wait for all of them.
    """
    try:
        return custom.of_annotations(obj, kind) or asked or kind
    except errors.PackageInvalid:
        return asked or kind


def _undeleted(obj: Manifest) -> Manifest:
    """The object as if nobody had asked it to go."""
    metadata = dict(obj["metadata"])
    metadata.pop("deletionTimestamp", None)
    return {**obj, "metadata": metadata}


def dwell(obj: Manifest) -> float | None:
    """Seconds of the annotation ``blocked-after``."""
    said = objects.annotation(obj, "blocked-after")
    try:
        return float(said) if said else None
    except ValueError:
        return None


def moving(obj: Manifest) -> tuple[Any, ...]:
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
