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

SUMMARY_CONDITIONS = ("Ready", "Available")
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
    if stalled and stalled.is_true and not stalled.is_outdated(obj):
        return base.failed(str(stalled))
    error = _error(found)
    reconciling = found.get("Reconciling")
    if reconciling and reconciling.is_true:
        return base.in_progress(str(reconciling), error)
    for name in SUMMARY_CONDITIONS:
        if deciding := found.get(name):
            return _summary_verdict(obj, deciding, error)
    if (unready := found.get(UNREADY)) and unready.is_true:
        return base.in_progress(str(unready), error)
    observed = fields.number(obj, base.OBSERVED)
    if observed is not None:
        if error:
            return base.in_progress(_reported(found, error), error)
        return base.current(f"generation {observed} seen by its controller")
    if not objects.field(obj, ("status",)):
        status = "its controller has not reported a status"
    else:
        status = (
            "its status has no condition Ready or Available and no "
            "observedGeneration"
        )
    return base.in_progress(
        f"{status}; if it never does, say when it is current: annotation "
        f"{PREFIX}ready-when (such as status.phase=Running), or "
        f"{PREFIX}readiness: exists",
        error,
    )


def _summary_verdict(
    obj: Manifest, deciding: Condition, error: str
) -> Verdict:
    if deciding.is_outdated(obj):
        generation = objects.generation(obj)
        return base.in_progress(
            f"{deciding.type} speaks for generation "
            f"{deciding.observed_generation}, "
            f"{generation} asked"
        )
    if deciding.is_true:
        return base.current(str(deciding))
    return base.in_progress(str(deciding), error)


def _error(found: Mapping[str, Condition]) -> str:
    """An error that the controller of a custom resource keeps telling of."""
    gone_wrong = found.get("Failed")
    if gone_wrong and gone_wrong.is_true:
        return gone_wrong.as_error
    for condition in found.values():
        if condition.is_false and condition.severity == "Error":
            return condition.as_error
        if (
            not condition.is_true
            and condition.reason in event_reasons.PERSISTENT
        ):
            return condition.as_error
    return ""


def _reported(found: Mapping[str, Condition], error: str) -> str:
    name, _, _ = error.partition("/")
    return str(found[name])


READINESS = ("status", "exists", "none")
"""The values of the annotation ``readiness``, and of that key in a request."""

UNCONDITIONAL = ("exists", "none")
"""Those that leave the status of an object out of account."""


def ignored_verdict(_obj: Manifest) -> Verdict:
    """Return that an object is current: its package does not wait for it."""
    return base.current("not waited for, as its package or a request asks")


def exists_verdict(obj: Manifest) -> Verdict:
    """Current once stored, whatever its controller reports."""
    if objects.field(obj, ("metadata", "deletionTimestamp")):
        return base.stored(obj)
    return base.current("stored, which its package calls enough")


ANY = Handler(generic_verdict)
"""For every kind without a handler."""

STORED = Handler(base.stored)
"""For kinds without a status subresource, whose state is not reported."""


def from_rules(
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
    good, bad = rules.from_values(current), rules.from_values(failed)
    if not good and not bad:
        raise errors.RequestInvalid("no rule is given")

    def assess(obj: Manifest) -> Verdict:
        if verdict := base.common_verdict(obj):
            return verdict
        for rule in bad:
            if rule.is_met(obj):
                return base.failed(f"{rule.describe_value(obj)} (rule {rule})")
        if not good:
            return kind.assess(obj)
        for rule in good:
            if not rule.is_met(obj):
                conditions = fields.conditions(obj)
                unready = conditions.get(UNREADY)
                why = f"; {unready}" if unready and unready.is_true else ""
                return base.in_progress(
                    f"{rule.describe_value(obj)}, expected {rule}{why}",
                    _error(conditions),
                )
        return base.current(
            ", ".join(rule.describe_value(obj) for rule in good)
        )

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
        return from_rules(current, failed, kind=kind)
    return kind if readiness else None


def from_annotations(
    manifest: Manifest, kind: Handler = ANY
) -> Handler | None:
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
    requested = {
        name: value for name, value in when.items() if value is not None
    }
    problems = []
    if readiness not in (None, *READINESS):
        problems.append(
            _problem(manifest, "readiness", _unknown_readiness(readiness))
        )
    if readiness in UNCONDITIONAL and requested:
        problems.append(
            _problem(
                manifest,
                "readiness",
                f"{readiness} leaves no use for {', '.join(requested)}",
            )
        )
    found = {}
    for name, value in requested.items():
        try:
            found[name] = rules.parse(value)
        except errors.RequestInvalid as error:
            problems.append(_problem(manifest, name, str(error)))
    if problems:
        raise errors.PackageInvalid(problems)
    if readiness in UNCONDITIONAL:
        return _unconditional(kind, readiness)
    if found:
        return from_rules(
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
        return dataclasses.replace(
            kind, assess=ignored_verdict, ephemeral=True
        )
    return dataclasses.replace(kind, assess=exists_verdict)


def _problem(manifest: Manifest, name: str, what: str) -> Problem:
    return Problem(
        str(ObjectRef.of(manifest)), f"annotation {PREFIX}{name}: {what}"
    )
