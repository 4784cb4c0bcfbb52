"""Gateway API: who takes requests, and where they go.

The result of a route is in ``status.parents``, for each Gateway that it
names (gateway-api apis/v1/shared_types.go, gateway_types.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Verdict

GROUP = "gateway.networking.k8s.io"

IN_PROGRESS_REASONS = ("Pending", "AddressNotAssigned", "NotReconciled")
"""Reasons that every start shows."""


def gateway_class(obj: Manifest) -> Verdict:
    if verdict := base.common_verdict(obj):
        return verdict
    return _condition_pending(obj, obj, "Accepted", "") or base.current(
        "Accepted"
    )


def gateway(obj: Manifest) -> Verdict:
    """Programmed is what its author waits for.

    The server itself fills in both conditions, as Unknown.
    """
    if verdict := base.common_verdict(obj):
        return verdict
    for name in ("Accepted", "Programmed"):
        if verdict := _condition_pending(obj, obj, name, ""):
            return verdict
    addresses = ", ".join(
        fields.text(item, ("value",))
        for item in fields.mappings(obj, ("status", "addresses"))
    )
    return base.current(
        f"Programmed at {addresses}" if addresses else "Programmed"
    )


def route(obj: Manifest) -> Verdict:
    """Current when each Gateway that it names accepts it and its backends."""
    if verdict := base.common_verdict(obj):
        return verdict
    statuses = fields.mappings(obj, ("status", "parents"))
    parents = fields.mappings(obj, ("spec", "parentRefs"))
    for ref in parents:
        about = [item for item in statuses if _is_same_parent(obj, ref, item)]
        name = fields.text(ref, ("name",))
        if not about:
            return base.in_progress(f"{name} has not reported on it yet")
        for item in about:
            for kind in ("Accepted", "ResolvedRefs"):
                if verdict := _condition_pending(obj, item, kind, f"{name}: "):
                    return verdict
    if not parents:
        return base.current("stored: it asks for no Gateway")
    return base.current(f"taken by {len(parents)} parent(s)")


def _condition_pending(
    obj: Manifest, status: Mapping[str, Any], name: str, about: str
) -> Verdict | None:
    """In progress unless the condition is True for what we ask."""
    path = ("conditions",) if status is not obj else fields.CONDITIONS
    found = fields.conditions(status, path).get(name)
    if found is None:
        return base.in_progress(f"{about}condition {name} is not reported yet")
    if found.is_outdated(obj):
        return base.in_progress(
            f"{about}{name} speaks for generation {found.observed_generation}"
        )
    if found.is_true:
        return None
    wrong = found.is_false and found.reason not in IN_PROGRESS_REASONS
    return base.in_progress(f"{about}{found}", found.as_error if wrong else "")


def _is_same_parent(
    obj: Manifest, ref: Mapping[str, Any], status: Mapping[str, Any]
) -> bool:
    """Whether a report is about a parent that the route asks for."""
    return _identity(obj, ref) == _identity(
        obj, fields.mapping(status, ("parentRef",))
    )


def _identity(obj: Manifest, ref: Mapping[str, Any]) -> tuple[object, ...]:
    """The server fills in group and kind; the namespace is the route's."""
    return (
        fields.text(ref, ("group",)) or GROUP,
        fields.text(ref, ("kind",)) or "Gateway",
        fields.text(ref, ("namespace",))
        or fields.text(obj, ("metadata", "namespace")),
        fields.text(ref, ("name",)),
        fields.text(ref, ("sectionName",)),
        fields.number(ref, ("port",)),
    )


def _parents(obj: Manifest) -> tuple[ObjectRef, ...]:
    return tuple(_gateways(obj))


def _gateways(obj: Manifest) -> Iterator[ObjectRef]:
    for ref in fields.mappings(obj, ("spec", "parentRefs")):
        group, kind, namespace, name, *_ = _identity(obj, ref)
        if (group, kind) == (GROUP, "Gateway") and name:
            yield ObjectRef(GROUP, "Gateway", str(namespace), str(name))


_ROUTE = Handler(route, references=_parents)

HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind(GROUP, "GatewayClass"): Handler(gateway_class),
    GroupKind(GROUP, "Gateway"): Handler(gateway),
    GroupKind(GROUP, "ReferenceGrant"): Handler(base.stored),
    **{
        GroupKind(GROUP, f"{protocol}Route"): _ROUTE
        for protocol in ("GRPC", "HTTP", "TCP", "TLS", "UDP")
    },
}
