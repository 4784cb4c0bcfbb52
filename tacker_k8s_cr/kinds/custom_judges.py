"""Kinds of operators in wide use that no rule of path and value can judge."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Verdict

TROUBLED = (
    "CrashLoopBackOff",
    "DataVolumeError",
    "ErrImagePull",
    "ErrorPvcNotFound",
    "ErrorUnschedulable",
    "ImagePullBackOff",
)
"""The statuses of a machine that KubeVirt cannot start."""

RESTING = {
    "Halted": ("Stopped",),
    "Manual": ("Stopped", "Running"),
    "Once": ("Stopped",),
    "RerunOnFailure": ("Stopped",),
    "WaitAsReceiver": ("WaitingForReceiver",),
}
"""What a machine may rest in, by its run strategy."""


def virtual_machine(obj: Manifest) -> Verdict:
    """A KubeVirt VirtualMachine (kubevirt/api core/v1/types.go).

    Its observedGeneration is that with which its instance was started, and
    stays behind when a change has to wait for the next start.
    """
    if fields.text(obj, ("metadata", "deletionTimestamp")):
        return base.stored(obj)
    seen = fields.number(obj, ("status", "desiredGeneration"))
    asked = fields.number(obj, ("metadata", "generation")) or 0
    if seen is not None and seen < asked:
        return base.in_progress(f"generation {asked} asked, {seen} seen")
    said = fields.text(obj, ("status", "printableStatus"))
    if not said:
        return base.in_progress("its controller has not reported a status yet")
    strategy = fields.text(obj, ("spec", "runStrategy")) or (
        "Always" if fields.is_true(obj, ("spec", "running")) else "Halted"
    )
    found = fields.conditions(obj)
    late = found.get("RestartRequired")
    note = f"; {late}" if late and late.true else ""
    ready = found.get("Ready")
    if strategy != "Halted" and ready and ready.true:
        return base.current(f"{said}{note}")
    if said in RESTING.get(strategy, ()):
        return base.current(f"{said}, as {strategy} allows{note}")
    error = f"printableStatus/{said}" if said in TROUBLED else ""
    why = f"; {ready}" if ready and not ready.true else ""
    return base.in_progress(f"{said}{why}", error)


def postgres_cluster(obj: Manifest) -> Verdict:
    """Crunchy Data's PostgresCluster (postgrescluster_types.go).

    It reports the observed generation before a single pod runs.
    """
    if verdict := base.observed_verdict(obj):
        return verdict
    if fields.is_true(obj, ("spec", "shutdown")):
        return base.current("shut down, as its spec asks")
    told = {
        fields.text(item, ("name",)): item
        for item in fields.mappings(obj, ("status", "instances"))
    }
    total = 0
    for item in fields.mappings(obj, ("spec", "instances")):
        # The server sets both by default.
        name = fields.text(item, ("name",)) or "00"
        asked = fields.number(item, ("replicas",))
        wanted = 1 if asked is None else asked
        for counter in ("updatedReplicas", "readyReplicas"):
            have = fields.number(told.get(name), (counter,)) or 0
            if have != wanted:
                return base.in_progress(
                    f"instances {name}: {counter} {have}/{wanted}"
                )
        total += wanted
    return base.current(f"{total} instance(s) ready")


def unless_not_ready(obj: Manifest) -> Verdict:
    """Current once stored, unless its Ready condition is False.

    The SR-IOV network operator reports on its networks only of late
    (k8snetworkplumbingwg/sriov-network-operator api/v1/conditions.go).
    """
    if verdict := base.common_verdict(obj):
        return verdict
    ready = fields.conditions(obj).get("Ready")
    if ready is None:
        return base.current("stored")
    if ready.behind(obj):
        return base.in_progress(f"Ready speaks for generation {ready.seen}")
    if ready.true:
        return base.current(str(ready))
    return base.in_progress(str(ready))


def helm_repository(obj: Manifest) -> Verdict:
    """Flux reports on one at a registry (of the type oci) nothing.

    fluxcd/source-controller api/v1/helmrepository_types.go.
    """
    if fields.text(obj, ("spec", "type")) == "oci":
        return base.stored(obj)
    if verdict := base.observed_verdict(obj):
        return verdict
    ready = fields.conditions(obj).get("Ready")
    if ready is None:
        return base.in_progress("condition Ready is not reported yet")
    return (
        base.current(str(ready))
        if ready.true
        else base.in_progress(str(ready))
    )


HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind("kubevirt.io", "VirtualMachine"): Handler(virtual_machine),
    GroupKind("postgres-operator.crunchydata.com", "PostgresCluster"): Handler(
        postgres_cluster
    ),
    GroupKind("source.toolkit.fluxcd.io", "HelmRepository"): Handler(
        helm_repository
    ),
    **{
        GroupKind("sriovnetwork.openshift.io", kind): Handler(unless_not_ready)
        for kind in (
            "OVSNetwork",
            "SriovIBNetwork",
            "SriovNetwork",
            "SriovOperatorConfig",
        )
    },
}
