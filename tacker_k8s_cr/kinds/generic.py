"""Kinds without a handler, and kinds that a package describes."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import event_reasons
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds import rules
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.fields import Condition
from tacker_k8s_cr.kinds.rules import Rule
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.objects import PREFIX
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Verdict

DECIDING = ("Ready", "Available")
"""Conditions that say whether an object is current, the first one first."""

UNREADY = "NotReady"
"""A condition that some report instead of Ready with the status False."""


def generic_verdict(obj: Manifest) -> Verdict:
    """Judge an object whose kind has no handler.

    Never current before its controller has spoken: an empty status is not
    success but silence.
    """
    if verdict := base.common_verdict(obj):
        return verdict
    found = fields.conditions(obj)
    stalled = found.get("Stalled")
    if stalled and stalled.true and not stalled.behind(obj):
        return base.failed(str(stalled))
    error = _signal(found)
    reconciling = found.get("Reconciling")
    if reconciling and reconciling.true:
        return base.in_progress(str(reconciling), error)
    for name in DECIDING:
        if deciding := found.get(name):
            return _decided(obj, deciding, error)
    if (unready := found.get(UNREADY)) and unready.true:
        return base.in_progress(str(unready), error)
    seen = fields.number(obj, base.OBSERVED)
    if seen is not None:
        if error:
            return base.in_progress(_told(found, error), error)
        return base.current(f"generation {seen} seen by its controller")
    if not objects.field(obj, ("status",)):
        heard = "its controller has not reported a status"
    else:
        heard = (
            "its status has no condition Ready or Available and no "
            "observedGeneration"
        )
    return base.in_progress(
        f"{heard}; if it never does, say when it is current: annotation "
        f"{PREFIX}ready-when (such as status.phase=Running), or "
        f"{PREFIX}readiness: exists",
        error,
    )


def _decided(obj: Manifest, deciding: Condition, error: str) -> Verdict:
    if deciding.behind(obj):
        asked = objects.generation(obj)
        return base.in_progress(
            f"{deciding.type} speaks for generation {deciding.seen}, "
            f"{asked} asked"
        )
    if deciding.true:
        return base.current(str(deciding))
    return base.in_progress(str(deciding), error)


def _signal(found: Mapping[str, Condition]) -> str:
    """An error that the controller of a custom resource keeps telling of."""
    gone_wrong = found.get("Failed")
    if gone_wrong and gone_wrong.true:
        return gone_wrong.signal
    for condition in found.values():
        if condition.false and condition.severity == "Error":
            return condition.signal
        if not condition.true and condition.reason in event_reasons.VAIN:
            return condition.signal
    return ""


def _told(found: Mapping[str, Condition], error: str) -> str:
    name, _, _ = error.partition("/")
    return str(found[name])


READINESS = ("status", "exists", "none")
"""The values of the annotation ``readiness``, and of that key in a request."""

UNCONDITIONAL = ("exists", "none")
"""Those that leave the status of an object out of account."""


def ignored(_obj: Manifest) -> Verdict:
    """Return that an object is current: its package does not wait for it."""
    return base.current("not waited for, as its package or a request asks")


def created(obj: Manifest) -> Verdict:
    """Current once stored, whatever its controller reports."""
    if objects.field(obj, ("metadata", "deletionTimestamp")):
        return base.stored(obj)
    return base.current("stored, which its package calls enough")


ANY = Handler(generic_verdict)
"""For every kind without a handler."""

STORED = Handler(base.stored)
"""For kinds without a status subresource, whose state is not reported."""


def by_rules(
    current: Sequence[Rule | str | Mapping[str, Any]] = (),
    failed: Sequence[Rule | str | Mapping[str, Any]] = (),
    *,
    kind: Handler = ANY,
) -> Handler:
    """The handler of a kind that is judged by rules.

    :param current: the object is current when all of these are met; without
        any, when ``kind`` judges so.
    :param failed: it has failed as soon as one of these is met.
    :param kind: what else is known of the kind.

    Raises RequestInvalid for an invalid rule.
    """
    good, bad = rules.read(current), rules.read(failed)
    if not good and not bad:
        raise errors.RequestInvalid("no rule is given")

    def assess(obj: Manifest) -> Verdict:
        if verdict := base.common_verdict(obj):
            return verdict
        for rule in bad:
            if rule.met(obj):
                return base.failed(f"{rule.found(obj)} (rule {rule})")
        if not good:
            return kind.assess(obj)
        for rule in good:
            if not rule.met(obj):
                conditions = fields.conditions(obj)
                unready = conditions.get(UNREADY)
                why = f"; {unready}" if unready and unready.true else ""
                return base.in_progress(
                    f"{rule.found(obj)}, expected {rule}{why}",
                    _signal(conditions),
                )
        return base.current(", ".join(rule.found(obj) for rule in good))

    return dataclasses.replace(kind, assess=assess)


def with_override(
    kind: Handler,
    readiness: str = "",
    current: Sequence[Rule | str | Mapping[str, Any]] = (),
    failed: Sequence[Rule | str | Mapping[str, Any]] = (),
) -> Handler | None:
    """Return the kind's handler with overridden rules; None without any.

    Raises RequestInvalid for what cannot be followed.
    """
    if readiness and readiness not in READINESS:
        raise errors.RequestInvalid(_unknown_readiness(readiness))
    if readiness in UNCONDITIONAL:
        if current or failed:
            raise errors.RequestInvalid(f"{readiness} leaves no use for rules")
        return _unconditional(kind, readiness)
    if current or failed:
        return by_rules(current, failed, kind=kind)
    return kind if readiness else None


def of_annotations(manifest: Manifest, kind: Handler = ANY) -> Handler | None:
    """The handler that the author of a manifest asks for, if any.

    Raises PackageInvalid for annotations that cannot be followed.
    """
    if not objects.has_annotations(manifest):
        return None
    readiness = objects.annotation(manifest, "readiness")
    when = {
        name: objects.annotation(manifest, name)
        for name in ("ready-when", "failed-when")
    }
    asked = {name: value for name, value in when.items() if value is not None}
    problems = []
    if readiness not in (None, *READINESS):
        problems.append(
            _problem(manifest, "readiness", _unknown_readiness(readiness))
        )
    if readiness in UNCONDITIONAL and asked:
        problems.append(
            _problem(
                manifest,
                "readiness",
                f"{readiness} leaves no use for {', '.join(asked)}",
            )
        )
    found = {}
    for name, value in asked.items():
        try:
            found[name] = rules.parsed(value)
        except errors.RequestInvalid as error:
            problems.append(_problem(manifest, name, str(error)))
    if problems:
        raise errors.PackageInvalid(problems)
    if readiness in UNCONDITIONAL:
        return _unconditional(kind, readiness)
    if found:
        return by_rules(
            found.get("ready-when", ()),
            found.get("failed-when", ()),
            kind=kind,
        )
    return kind if readiness else None


def _unknown_readiness(readiness: str) -> str:
    return f"{readiness!r} is not one of {', '.join(READINESS)}"


def _unconditional(kind: Handler, readiness: str) -> Handler:
    """Return the handler for objects whose status does not count."""
    if readiness == "none":
        return dataclasses.replace(kind, assess=ignored, ephemeral=True)
    return dataclasses.replace(kind, assess=created)


def _problem(manifest: Manifest, name: str, what: str) -> Problem:
    return Problem(
        str(ObjectRef.of(manifest)), f"annotation {PREFIX}{name}: {what}"
    )
