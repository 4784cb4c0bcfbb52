"""Control planes of any provider."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.capi import conditions
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.model.objects import Verdict

CONTROL_PLANE_NAME = "cluster.x-k8s.io/control-plane-name"

EXTERNAL_ETCD: Path = (
    "spec",
    "kubeadmConfigSpec",
    "clusterConfiguration",
    "etcd",
    "external",
)


def control_plane(obj: Manifest) -> Verdict:
    """Initialized, Available if it has that condition, with all machines.

    A control plane that no machines make up, as clouds sell them, has no
    ``spec.replicas`` and no counters.
    """
    if verdict := conditions.common_verdict(obj):
        return verdict
    version = contract.contract_of(obj)
    found = fields.conditions(obj)
    if not fields.is_true(obj, version.initialized):
        condition = found.get("Initialized") or found.get("Available")
        why = f"; {condition}" if condition and not condition.is_true else ""
        return conditions.in_progress(
            obj, f"{'.'.join(version.initialized)} is not true yet{why}"
        )
    if version is contract.V1BETA2:
        # No condition is mandatory; the first of these that is there counts.
        deciding = [name for name in ("Available", "Ready") if name in found]
        verdict = (
            conditions.not_observed(
                obj, found[deciding[0]] if deciding else None
            )
            or conditions.require_true(obj, found, *deciding[:1])
            or conditions.in_rollout(obj, found)
        )
        if verdict:
            return verdict
    elif not fields.is_true(obj, ("status", "ready")):
        return conditions.in_progress(obj, "status.ready is not true yet")
    return _counters_verdict(obj, version)


def _counters_verdict(
    obj: Manifest, contract_version: contract.Contract
) -> Verdict:
    desired = fields.number(obj, contract.REPLICAS)
    if desired is None:
        if fields.number(obj, ("status", "replicas")) is None:
            return base.current("initialized")
        desired = 1
    mismatch = conditions.counters_mismatch(
        obj, ("status",), contract_version.counters, desired
    )
    if mismatch:
        return mismatch
    unavailable = fields.number(obj, ("status", "unavailableReplicas"))
    if unavailable:
        return conditions.in_progress(
            obj, f"status.unavailableReplicas {unavailable}/0"
        )
    version = fields.text(obj, ("spec", "version"))
    at = f" at {version}" if version else ""
    return base.current(f"{desired} replica(s) ready{at}")


def validate_replicas(obj: Manifest, replicas: int) -> str | None:
    """What the webhook of a KubeadmControlPlane would say to a number.

    etcd that runs on the machines themselves needs a majority of an odd
    number of them.
    """
    if replicas < 1:
        return "a control plane needs at least 1 replica"
    if replicas % 2 == 0 and not fields.mapping(obj, EXTERNAL_ETCD):
        return (
            f"{replicas} replicas: with etcd on the control plane machines "
            "the number must be odd"
        )
    return None


def _machines(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    name = fields.text(obj, ("metadata", "name"))
    return contract.label_selector("Machine", CONTROL_PLANE_NAME, name)


_ANY = Handler(
    control_plane,
    replicas=contract.REPLICAS,
    child_selectors=_machines,
)


def of_control_planes(group_kind: GroupKind) -> Handler | None:
    """The handler of any control plane, by its group."""
    if group_kind.group == contract.CONTROL_PLANE_GROUP:
        return _ANY
    return None


HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind(
        contract.CONTROL_PLANE_GROUP, "KubeadmControlPlane"
    ): dataclasses.replace(_ANY, refuse_replicas=validate_replicas),
}
