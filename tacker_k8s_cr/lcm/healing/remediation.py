"""Machines that Cluster API replaces because they are marked for it.

A MachineHealthCheck that watches a marked Machine reports it as unhealthy, and
the controller of the Machine's owner deletes it under its own rules. Without
such a check the mark has no effect.
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
from tacker_k8s_cr.plan.inventory import MemberRef

ANNOTATION = "machine-heal-strategy"
"""On the object of a package that the machines work for."""

REMEDIATE = "remediate"

MARK = "cluster.x-k8s.io/remediate-machine"
SKIP = "cluster.x-k8s.io/skip-remediation"
PAUSED = "cluster.x-k8s.io/paused"

MACHINE = GroupKind(contract.GROUP, "Machine")
CHECK = GroupKind(contract.GROUP, "MachineHealthCheck")
SET = GroupKind(contract.GROUP, "MachineSet")

VAIN = "CannotBeRemediated"
"""Condition by which the owner of a marked Machine reports that it will not
remediate it."""


def remediation_refusals(
    cluster: Cluster, places: Collection[MemberLocation]
) -> dict[ObjectRef, str]:
    """Return Machines that a mark would not cause to be replaced, and why.

    For a Machine that has the mark already, the wait reports the reason.
    """
    places = [place for place in places if not is_marked(place.member)]
    namespaces = sorted({place.goer.ref.namespace for place in places})
    checks = dict(
        results_or_raise(
            cluster.map_parallel(
                lambda where: tuple(cluster.list_objects(CHECK, where)),
                namespaces,
            )
        )
    )
    return {
        place.goer.ref: why
        for place in places
        if (
            why := why_ineffective(
                place.member, checks[place.goer.ref.namespace]
            )
        )
    }


def why_ineffective(
    machine: Manifest, checks: Iterable[Manifest]
) -> str | None:
    """Return why remediation of a Machine would have no effect, or None."""
    annotations = fields.annotations_of(machine)
    for name in (SKIP, PAUSED):
        if name in annotations:
            return f"its annotation {name} keeps it from remediation"
    if not _remediated(machine):
        return "what keeps it does not remediate machines"
    name = fields.text(machine, ("metadata", "name"))
    watching = [
        check
        for check in checks
        if name in fields.texts(check, ("status", "targets"))
    ]
    if not watching:
        return "no MachineHealthCheck watches it"
    whys = [_idle(check) for check in watching]
    return None if None in whys else "; ".join(filter(None, whys))


def _remediated(machine: Manifest) -> bool:
    """Whether its controller is one that acts upon health checks."""
    for reference in fields.mappings(machine, ("metadata", "ownerReferences")):
        if reference.get("controller"):
            kind = GroupKind(
                contract.group_of(reference), str(reference.get("kind"))
            )
            return kind == SET or kind.group == contract.CONTROL_PLANE_GROUP
    return False


def _idle(check: Manifest) -> str | None:
    """Why a check leads to no replacement."""
    ref = ObjectRef.of(check)
    for path in (
        ("spec", "remediation", "templateRef"),
        ("spec", "remediationTemplate"),
    ):
        if fields.mapping(check, path):
            return f"{ref} leaves it to another controller, which may keep it"
    found = fields.conditions(check)
    if (paused := found.get("Paused")) and paused.true:
        return f"{ref} is paused"
    if (allowed := found.get("RemediationAllowed")) and allowed.false:
        return f"{ref}: {allowed}"
    return None


def request_remediation(
    cluster: Cluster,
    goers: Sequence[MemberRef],
    manager: str,
    guard: Callable[[], None],
) -> None:
    """Mark Machines for this heal; a deleted Machine needs no mark.

    Cluster API evaluates only the presence of the mark, not its value.
    """

    def one(goer: MemberRef) -> None:
        guard()
        metadata = {"uid": goer.uid, "annotations": {MARK: manager}}
        with contextlib.suppress(errors.Conflict):
            cluster.patch(goer.ref, {"metadata": metadata}, manager)

    for _ in results_or_raise(cluster.map_parallel(one, goers)):
        pass


def remediation_failure(machine: Manifest) -> str | None:
    """Return the reported reason why a marked Machine is not replaced."""
    told = fields.conditions(machine).get("OwnerRemediated")
    return str(told) if told and told.false and told.reason == VAIN else None


def is_marked(machine: Manifest) -> bool:
    return MARK in fields.annotations_of(machine)
