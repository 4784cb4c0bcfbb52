"""Kinds that are current once stored, for nothing has to work on them."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Verdict


def resource_quota(obj: Manifest) -> Verdict:
    """Pods are refused until the controller has counted for a new quota.

    The server answers "status unknown for quota" up to then.
    """
    if verdict := base.common_verdict(obj):
        return verdict
    hard = fields.mapping(obj, ("spec", "hard"))
    counted = fields.mapping(obj, ("status", "hard"))
    missing = sorted(
        str(name) for name in hard if counted.get(name) != hard[name]
    )
    if missing:
        return base.in_progress(f"not counted yet: {', '.join(missing)}")
    return base.current(f"{len(hard)} limit(s) in force")


def _stored(rank: ApplyOrder, *kinds: str) -> dict[GroupKind, Handler]:
    """Rows for kinds written as ``Kind`` or ``Kind.group``."""
    rows = {}
    for name in kinds:
        kind, _, group = name.partition(".")
        rows[GroupKind(group, kind)] = Handler(base.stored, rank)
    return rows


HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind("", "ResourceQuota"): Handler(resource_quota, ApplyOrder.POLICY),
    **_stored(
        ApplyOrder.POLICY,
        "LimitRange",
        "CSIDriver.storage.k8s.io",
        "DeviceClass.resource.k8s.io",
        "FlowSchema.flowcontrol.apiserver.k8s.io",
        "IngressClass.networking.k8s.io",
        "NetworkPolicy.networking.k8s.io",
        "PriorityClass.scheduling.k8s.io",
        "PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io",
        "RuntimeClass.node.k8s.io",
        "StorageClass.storage.k8s.io",
        "VolumeAttributesClass.storage.k8s.io",
    ),
    **_stored(
        ApplyOrder.CONFIG,
        "ConfigMap",
        "PodTemplate",
        "Secret",
        "ServiceAccount",
        "ControllerRevision.apps",
        "Lease.coordination.k8s.io",
        # A claim for devices is allocated when a pod that uses it is
        # scheduled, not before.
        "ResourceClaim.resource.k8s.io",
        "ResourceClaimTemplate.resource.k8s.io",
    ),
    **_stored(
        ApplyOrder.ACCESS,
        "ClusterRole.rbac.authorization.k8s.io",
        "Role.rbac.authorization.k8s.io",
    ),
    **_stored(
        # The server compares the rules of the role with the user's own.
        ApplyOrder.BINDING,
        "ClusterRoleBinding.rbac.authorization.k8s.io",
        "RoleBinding.rbac.authorization.k8s.io",
    ),
    **_stored(
        ApplyOrder.SERVICE,
        "Endpoints",
        "EndpointSlice.discovery.k8s.io",
    ),
}
