"""Annotate Machines so that Cluster API remediates them.

A MachineHealthCheck that watches an annotated Machine reports it as unhealthy,
and the controller of the Machine's owner deletes it under its own rules.
Without such a check the annotation has no effect.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import contextlib

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.healing.selection import MemberLocation
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.journal import MemberRef

STRATEGY_ANNOTATION = "machine-heal-strategy"
"""Annotation of the object in the package that owns the Machines."""

REMEDIATE = "remediate"

REMEDIATE_MACHINE = "cluster.x-k8s.io/remediate-machine"
SKIP = "cluster.x-k8s.io/skip-remediation"
PAUSED = "cluster.x-k8s.io/paused"

MACHINE = GroupKind(contract.GROUP, "Machine")
HEALTH_CHECK = GroupKind(contract.GROUP, "MachineHealthCheck")
MACHINE_SET = GroupKind(contract.GROUP, "MachineSet")

CANNOT_REMEDIATE = "CannotBeRemediated"
"""Reason with which the owner of an annotated Machine reports that it will not
remediate it."""


def remediation_refusals(
    cluster: Cluster, locations: Collection[MemberLocation]
) -> dict[ObjectRef, str]:
    """Return Machines that the annotation would not replace, and why.

    For a Machine that is annotated already, the wait reports the reason.
    """
    locations = [
        location for location in locations if not is_annotated(location.obj)
    ]
    namespaces = sorted(
        {location.member.ref.namespace for location in locations}
    )
    checks = dict(
        results_or_raise(
            cluster.map_parallel(
                lambda namespace: tuple(
                    cluster.list_objects(HEALTH_CHECK, namespace)
                ),
                namespaces,
            )
        )
    )
    return {
        location.member.ref: why
        for location in locations
        if (
            why := ineffective_reason(
                location.obj, checks[location.member.ref.namespace]
            )
        )
    }


def ineffective_reason(
    machine: Manifest, checks: Iterable[Manifest]
) -> str | None:
    """Return why remediation of a Machine would have no effect, or None."""
    annotations = fields.annotations_of(machine)
    for name in (SKIP, PAUSED):
        if name in annotations:
            return f"its annotation {name} prevents remediation"
    if not _has_remediating_owner(machine):
        return "its owner does not remediate Machines"
    name = fields.text(machine, ("metadata", "name"))
    watching = [
        check
        for check in checks
        if name in fields.texts(check, ("status", "targets"))
    ]
    if not watching:
        return "no MachineHealthCheck watches it"
    reasons = [_no_effect_reason(check) for check in watching]
    return None if None in reasons else "; ".join(filter(None, reasons))


def _has_remediating_owner(machine: Manifest) -> bool:
    """Return whether its controller acts on health checks."""
    for reference in fields.mappings(machine, ("metadata", "ownerReferences")):
        if reference.get("controller"):
            kind = GroupKind(
                contract.group_of(reference), str(reference.get("kind"))
            )
            return (
                kind == MACHINE_SET
                or kind.group == contract.CONTROL_PLANE_GROUP
            )
    return False


def _no_effect_reason(check: Manifest) -> str | None:
    """Return why a health check leads to no replacement, or None."""
    ref = ObjectRef.of(check)
    for path in (
        ("spec", "remediation", "templateRef"),
        ("spec", "remediationTemplate"),
    ):
        if fields.mapping(check, path):
            return (
                f"{ref} delegates to another controller, which may retain it"
            )
    found = fields.conditions(check)
    if (paused := found.get("Paused")) and paused.is_true:
        return f"{ref} is paused"
    if (allowed := found.get("RemediationAllowed")) and allowed.is_false:
        return f"{ref}: {allowed}"
    return None


def request_remediation(
    cluster: Cluster,
    members: Sequence[MemberRef],
    manager: str,
    guard: Callable[[], None],
) -> None:
    """Annotate Machines for this heal, unless they are deleted already.

    Cluster API evaluates only the presence of the annotation.
    """

    def annotate(member: MemberRef) -> None:
        guard()
        metadata = {
            "uid": member.uid,
            "annotations": {REMEDIATE_MACHINE: manager},
        }
        with contextlib.suppress(errors.Conflict):
            cluster.patch(member.ref, {"metadata": metadata}, manager)

    for _ in results_or_raise(cluster.map_parallel(annotate, members)):
        pass


def remediation_failure(machine: Manifest) -> str | None:
    """Return the reported reason why an annotated Machine stays, or None."""
    condition = fields.conditions(machine).get("OwnerRemediated")
    return (
        str(condition)
        if condition
        and condition.is_false
        and condition.reason == CANNOT_REMEDIATE
        else None
    )


def is_annotated(machine: Manifest) -> bool:
    return REMEDIATE_MACHINE in fields.annotations_of(machine)
