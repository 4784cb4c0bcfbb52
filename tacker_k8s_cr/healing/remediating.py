"""Machines that Cluster API replaces because they are marked for it.

A MachineHealthCheck that watches a marked machine reports it as sick, and
whoever keeps the machine deletes it under its own rules. Without such a
check the mark does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import contextlib

from tacker_k8s_cr import errors
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.healing.candidates import Place
from tacker_k8s_cr.inventory import Goer
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef

ANNOTATION = "heal-machines"
"""On the object of a package that the machines work for."""

REMEDIATE = "remediate"

MARK = "cluster.x-k8s.io/remediate-machine"
SKIP = "cluster.x-k8s.io/skip-remediation"
PAUSED = "cluster.x-k8s.io/paused"

MACHINE = GroupKind(contract.GROUP, "Machine")
CHECK = GroupKind(contract.GROUP, "MachineHealthCheck")
SET = GroupKind(contract.GROUP, "MachineSet")

VAIN = "CannotBeRemediated"
"""With which the keeper of a marked machine says that it will not act."""


def refused(
    cluster: Cluster, places: Collection[Place]
) -> dict[ObjectRef, str]:
    """Machines that would not be replaced for a mark, and why.

    Of one that has the mark already that is told while it is waited for.
    """
    places = [place for place in places if not is_marked(place.member)]
    namespaces = sorted({place.goer.ref.namespace for place in places})
    checks = dict(
        raised(
            cluster.each(
                lambda where: tuple(cluster.list_objects(CHECK, where)),
                namespaces,
            )
        )
    )
    return {
        place.goer.ref: why
        for place in places
        if (why := useless(place.member, checks[place.goer.ref.namespace]))
    }


def useless(machine: Manifest, checks: Iterable[Manifest]) -> str | None:
    """Why a mark on a machine would come to nothing; None if it would not."""
    annotations = reading.annotations_of(machine)
    for name in (SKIP, PAUSED):
        if name in annotations:
            return f"its annotation {name} keeps it from remediation"
    if not _remediated(machine):
        return "what keeps it does not remediate machines"
    name = reading.text(machine, ("metadata", "name"))
    watching = [
        check
        for check in checks
        if name in reading.texts(check, ("status", "targets"))
    ]
    if not watching:
        return "no MachineHealthCheck watches it"
    whys = [_idle(check) for check in watching]
    return None if None in whys else "; ".join(filter(None, whys))


def _remediated(machine: Manifest) -> bool:
    """Whether its controller is one that acts upon health checks."""
    for reference in reading.items(machine, ("metadata", "ownerReferences")):
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
        if reading.mapping(check, path):
            return f"{ref} leaves it to another controller, which may keep it"
    found = reading.conditions(check)
    if (paused := found.get("Paused")) and paused.true:
        return f"{ref} is paused"
    if (allowed := found.get("RemediationAllowed")) and allowed.false:
        return f"{ref}: {allowed}"
    return None


def marked(
    cluster: Cluster,
    goers: Sequence[Goer],
    manager: str,
    guard: Callable[[], None],
) -> None:
    """Mark machines as ours to heal; one that is gone needs no mark.

    Only that there is a mark matters to Cluster API, not what it says.
    """

    def one(goer: Goer) -> None:
        guard()
        metadata = {"uid": goer.uid, "annotations": {MARK: manager}}
        with contextlib.suppress(errors.Outdated):
            cluster.patch(goer.ref, {"metadata": metadata}, manager)

    for _ in raised(cluster.each(one, goers)):
        pass


def vain(machine: Manifest) -> str | None:
    """Why whoever keeps a marked machine does not replace it, if it says."""
    told = reading.conditions(machine).get("OwnerRemediated")
    return str(told) if told and told.false and told.reason == VAIN else None


def is_marked(machine: Manifest) -> bool:
    return MARK in reading.annotations_of(machine)
