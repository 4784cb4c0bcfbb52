"""Kinds of operators in wide use that no rule of path and value can judge."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Verdict

ERROR_STATUSES = (
    "CrashLoopBackOff",
    "DataVolumeError",
    "ErrImagePull",
    "ErrorPvcNotFound",
    "ErrorUnschedulable",
    "ImagePullBackOff",
)
"""The statuses of a machine that KubeVirt cannot start."""

STOPPED_STATUSES = {
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
    observed = fields.number(obj, ("status", "desiredGeneration"))
    generation = fields.number(obj, ("metadata", "generation")) or 0
    if observed is not None and observed < generation:
        return base.in_progress(
            f"generation {generation} asked, {observed} seen"
        )
    status = fields.text(obj, ("status", "printableStatus"))
    if not status:
        return base.in_progress("its controller has not reported a status yet")
    strategy = fields.text(obj, ("spec", "runStrategy")) or (
        "Always" if fields.is_true(obj, ("spec", "running")) else "Halted"
    )
    found = fields.conditions(obj)
    restart = found.get("RestartRequired")
    note = f"; {restart}" if restart and restart.is_true else ""
    ready = found.get("Ready")
    if strategy != "Halted" and ready and ready.is_true:
        return base.current(f"{status}{note}")
    if status in STOPPED_STATUSES.get(strategy, ()):
        return base.current(f"{status}, as {strategy} allows{note}")
    error = f"printableStatus/{status}" if status in ERROR_STATUSES else ""
    why = f"; {ready}" if ready and not ready.is_true else ""
    return base.in_progress(f"{status}{why}", error)


def postgres_cluster(obj: Manifest) -> Verdict:
    """Crunchy Data's PostgresCluster (postgrescluster_types.go).

    It reports the observed generation before a single pod runs.
    """
    if verdict := base.observed_verdict(obj):
        return verdict
    if fields.is_true(obj, ("spec", "shutdown")):
        return base.current("shut down, as its spec asks")
    reported = {
        fields.text(item, ("name",)): item
        for item in fields.mappings(obj, ("status", "instances"))
    }
    total = 0
    for item in fields.mappings(obj, ("spec", "instances")):
        # The server sets both by default.
        name = fields.text(item, ("name",)) or "00"
        replicas = fields.number(item, ("replicas",))
        desired = 1 if replicas is None else replicas
        for counter in ("updatedReplicas", "readyReplicas"):
            actual = fields.number(reported.get(name), (counter,)) or 0
            if actual != desired:
                return base.in_progress(
                    f"instances {name}: {counter} {actual}/{desired}"
                )
        total += desired
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
    if ready.is_outdated(obj):
        return base.in_progress(
            f"Ready speaks for generation {ready.observed_generation}"
        )
    if ready.is_true:
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
        if ready.is_true
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
