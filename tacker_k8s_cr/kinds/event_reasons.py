"""Reasons in conditions and events that tell trouble from work."""

from __future__ import annotations

PERSISTENT = frozenset(
    {
        "AuthenticationFailed",
        "ConfigurationError",
        "CreateFailed",
        "Forbidden",
        "InsufficientQuota",
        "InvalidConfiguration",
        "InvalidSpec",
        "QuotaExceeded",
        "ReconcileError",
        "ReconcileFailed",
        "ReconciliationError",
        "ReconciliationFailed",
        "Unauthorized",
        "UpdateFailed",
        "ValidationFailed",
    }
)
"""Reasons of conditions that operators set on failure, not in progress."""


def is_persistent_error(reason: str) -> bool:
    """Whether a reason of infrastructure, or of what starts it, is trouble.

    What providers are at work on they call by what they wait for.
    """
    return (
        reason in PERSISTENT
        or reason.endswith(("Error", "Failed"))
        or reason.startswith("Invalid")
    )


TRANSIENT = frozenset(
    {
        # kubelet: a probe fails during a slow start, too, and a failing
        # liveness probe restarts the container, which is reported.
        "Unhealthy",
        "ProbeWarning",
        # kubelet: the pod runs anyway.
        "DNSConfigForming",
        "FailedToRetrieveImagePullSecret",
        "MissingClusterDNS",
        # horizontal pod autoscaler: metrics come when the pods run.
        "FailedComputeMetricsReplicas",
        "FailedGetContainerResourceMetric",
        "FailedGetExternalMetric",
        "FailedGetObjectMetric",
        "FailedGetPodsMetric",
        "FailedGetResourceMetric",
        # endpoint controllers: a write that lost a race.
        "FailedToUpdateEndpoint",
        "FailedToUpdateEndpointSlices",
        # kubeadm control plane: it waits for a machine that comes up.
        "ControlPlaneUnhealthy",
        # policy engines tell it of what they let pass, too.
        "PolicyViolation",
    }
)
"""Of warning events: told again and again although all may be well."""

RESOLVED_BY = {
    "FailedScheduling": frozenset({"Nominated", "TriggeredScaleUp"})
}
"""Warnings that do not count beside an event with one of these reasons.

The cluster autoscaler and Karpenter say by them that a node is on its way.
"""

TIMEOUT_FACTORS = {
    "FailedAttachVolume": 3.0,
    "FailedMount": 3.0,
    "SyncLoadBalancerFailed": 3.0,
}
"""Warnings that may stand for so many times as long as others.

The volume of a node that died is taken from it by force after six minutes,
and a load balancer may be machines that start.
"""
