"""How workloads are reached, and what keeps their number."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.model.objects import split_api_version


def service(obj: Manifest) -> Verdict:
    if verdict := base.common_verdict(obj):
        return verdict
    kind = fields.text(obj, ("spec", "type")) or "ClusterIP"
    if kind == "ExternalName":
        return base.current(
            f"stands for {fields.text(obj, ('spec', 'externalName'))}"
        )
    address = fields.text(obj, ("spec", "clusterIP"))
    if not address:
        return base.in_progress("no clusterIP yet")
    if kind == "LoadBalancer":
        return _load_balancer_verdict(obj)
    if address == "None":
        return base.current("headless")
    return base.current(f"{kind} {address}")


def _load_balancer_verdict(obj: Manifest) -> Verdict:
    reached = _addresses(obj)
    if reached:
        return base.current(f"LoadBalancer {reached}")
    external = fields.texts(obj, ("spec", "externalIPs"))
    if external:
        return base.current(f"LoadBalancer at its own {', '.join(external)}")
    return base.in_progress("no load balancer has given it an address yet")


def ingress(obj: Manifest) -> Verdict:
    """Current once stored.

    To publish the address is an option of most ingress controllers, often
    off; a package that can count on it may say so by a rule.
    """
    if verdict := base.common_verdict(obj):
        return verdict
    reached = _addresses(obj)
    return base.current(f"reached at {reached}" if reached else "stored")


def _addresses(obj: Manifest) -> str:
    found = fields.mappings(obj, ("status", "loadBalancer", "ingress"))
    return ", ".join(
        fields.text(item, ("ip",)) or fields.text(item, ("hostname",))
        for item in found
    )


def horizontal_pod_autoscaler(obj: Manifest) -> Verdict:
    """A HorizontalPodAutoscaler: can it scale, and has it the least number?"""
    if verdict := base.common_verdict(obj):
        return verdict
    found = fields.conditions(obj)
    able, active = found.get("AbleToScale"), found.get("ScalingActive")
    if able and not able.is_true:
        return base.in_progress(str(able), able.as_error)
    if not active:
        return base.in_progress("not looked at by its controller yet")
    if active.reason == "ScalingDisabled":
        return base.current("switched off: its target has 0 replicas")
    if not active.is_true:
        # Metrics are missing as long as the first pods start; a metric or
        # selector that cannot be right is another matter.
        wrong = active.reason.startswith("Invalid")
        return base.in_progress(str(active), active.as_error if wrong else "")
    minimum = fields.number(obj, ("spec", "minReplicas"))
    minimum = 1 if minimum is None else minimum
    actual = fields.number(obj, ("status", "currentReplicas")) or 0
    if actual < minimum:
        return base.in_progress(f"currentReplicas {actual}/{minimum}")
    return base.current(f"scales, {actual} replica(s) now")


def disruption_budget(obj: Manifest) -> Verdict:
    """Current once counted; how many pods there are is not its matter."""
    if verdict := base.observed_verdict(obj):
        return verdict
    allowed = fields.conditions(obj).get("DisruptionAllowed")
    if allowed and allowed.reason == "SyncFailed":
        return base.in_progress(str(allowed), allowed.as_error)
    healthy = fields.number(obj, ("status", "currentHealthy")) or 0
    minimum = fields.number(obj, ("status", "desiredHealthy")) or 0
    return base.current(f"{healthy} of at least {minimum} pod(s) healthy")


def _scale_target(obj: Manifest) -> tuple[ObjectRef, ...]:
    """The object whose number an autoscaler keeps."""
    ref = fields.mapping(obj, ("spec", "scaleTargetRef"))
    kind, name = fields.text(ref, ("kind",)), fields.text(ref, ("name",))
    if not (kind and name):
        return ()
    group, _ = split_api_version(fields.text(ref, ("apiVersion",)))
    namespace = fields.text(obj, ("metadata", "namespace"))
    return (ObjectRef(group, kind, namespace, name),)


HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind("", "Service"): Handler(service, ApplyOrder.SERVICE),
    GroupKind("networking.k8s.io", "Ingress"): Handler(
        ingress, ApplyOrder.SCALING
    ),
    GroupKind("autoscaling", "HorizontalPodAutoscaler"): Handler(
        horizontal_pod_autoscaler, ApplyOrder.SCALING, references=_scale_target
    ),
    GroupKind("policy", "PodDisruptionBudget"): Handler(
        disruption_budget, ApplyOrder.SCALING
    ),
}
