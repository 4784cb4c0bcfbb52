"""What all kinds of Cluster API show alike: pause, failure, error, deletion.

Whatever a status has at ``status.conditions`` decides. Conditions of the
other version of the contract, kept beside it for the time of transition,
only tell more.
"""

from __future__ import annotations

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import event_reasons
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.fields import Condition
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict

V1BETA2_CONDITIONS: Path = ("status", "v1beta2", "conditions")
"""The new conditions, in an object read at the old version."""

V1BETA1_CONDITIONS: Path = ("status", "deprecated", "v1beta1", "conditions")
"""The old conditions, in an object read at the new version."""

PAUSED = "cluster.x-k8s.io/paused"
"""Annotation that stops the controllers of one object."""

TRANSIENT_REASONS = frozenset(
    {
        "ControlPlaneComponentsUnhealthy",
        "EtcdClusterUnhealthy",
        "EtcdMemberUnhealthy",
        "PodMissing",
        "PreflightCheckFailed",
        "RemoteClusterClientFailed",
    }
)
"""Reasons that carry severity Error although all is well.

Cluster API 1.14 shows each of them while a cluster comes up or rolls: a
machine that has just joined has no pods and is not a member of etcd yet, and
what needs the control plane waits for it.
"""

PROVIDER_GROUPS = (contract.INFRASTRUCTURE_GROUP, contract.BOOTSTRAP_GROUP)
PROVIDER_CONDITIONS = ("BootstrapConfigReady", "InfrastructureReady")
"""Groups of what providers make, and conditions that repeat its words."""

ERROR_REASONS = frozenset(
    {"ReconcileFailed", "ClusterClassNotReconciled", "TopologyReconcileFailed"}
)
"""Reasons of TopologyReconciled that mean trouble, not work."""


def common_verdict(obj: Manifest) -> Verdict | None:
    """What can be said before looking at what the kind is for."""
    verdict = base.common_verdict(obj)
    if verdict and verdict.state is State.TERMINATING:
        deleting = all_conditions(obj).get("Deleting")
        if deleting and deleting.is_true and deleting.reason:
            return Verdict(State.TERMINATING, f"{verdict.reason}; {deleting}")
        return verdict
    # A paused object does not even report which generation it saw.
    if why := pause_reason(obj):
        return base.in_progress(f"paused: {why}", "Paused/Paused")
    return verdict or _terminal_failure(obj)


def all_conditions(obj: Manifest) -> dict[str, Condition]:
    """All conditions, those of the object's own version before others."""
    return {
        **fields.conditions(obj, V1BETA1_CONDITIONS),
        **fields.conditions(obj, V1BETA2_CONDITIONS),
        **fields.conditions(obj),
    }


def pause_reason(obj: Manifest) -> str:
    """Return why the object is paused; empty if it is not."""
    if fields.is_true(obj, ("spec", "paused")):
        return "spec.paused is true"
    if PAUSED in fields.annotations_of(obj):
        return f"it has the annotation {PAUSED}"
    condition = all_conditions(obj).get("Paused")
    if condition and condition.is_true:
        return str(condition)
    return ""


def _terminal_failure(obj: Manifest) -> Verdict | None:
    """Permanently failed, which exists only in the v1beta1 contract."""
    if not contract.contract_of(obj).terminal:
        return None
    reason = fields.text(obj, ("status", "failureReason"))
    message = fields.one_line(fields.text(obj, ("status", "failureMessage")))
    if reason or message:
        return base.failed(
            ": ".join(part for part in (reason, message) if part)
        )
    if fields.text(obj, ("status", "phase")) == "Failed":
        return base.failed("phase Failed")
    return None


def error(obj: Manifest) -> Condition | None:
    """A sign of trouble that its controller keeps retrying, or nothing."""
    topology = all_conditions(obj).get("TopologyReconciled")
    if topology and topology.is_false and topology.reason in ERROR_REASONS:
        return topology
    found = {
        **fields.conditions(obj, V1BETA1_CONDITIONS),
        **fields.conditions(obj),
    }
    # Ready repeats the worst of the others; their own type is more specific.
    for name in sorted(found, key=lambda name: (name == "Ready", name)):
        condition = found[name]
        severe = _is_severe(obj, condition)
        # A summary names the origin of its reason: "PodMissing @ Machine/a".
        reason = condition.reason.partition(" @ ")[0]
        if condition.is_false and severe and reason not in TRANSIENT_REASONS:
            return condition
    deprecated: Path = ("status", "deprecated", "v1beta1")
    if reason := fields.text(obj, (*deprecated, "failureReason")):
        message = fields.text(obj, (*deprecated, "failureMessage"))
        return Condition("failureReason", "True", reason, message)
    return None


def _is_severe(obj: Manifest, condition: Condition) -> bool:
    """By the older contract's severity; the newer one only has reasons."""
    if condition.severity:
        return condition.severity == "Error"
    group = GroupKind.of(obj).group
    if group in PROVIDER_GROUPS or condition.type in PROVIDER_CONDITIONS:
        return event_reasons.is_persistent_error(condition.reason)
    return condition.reason in event_reasons.PERSISTENT


def in_progress(obj: Manifest, reason: str) -> Verdict:
    """In progress, with the error that the object shows, if any."""
    trouble = error(obj)
    if trouble is None:
        return base.in_progress(reason)
    if not reason.startswith(trouble.type):
        reason = f"{reason}; {trouble}"
    return base.in_progress(reason, trouble.as_error)


def require_true(
    obj: Manifest, found: dict[str, Condition], *types: str
) -> Verdict | None:
    """In progress unless each of these conditions is True for what we ask.

    The generation is asked of these only, which decide: others may lag on
    an object that has long been as it should.
    """
    for name in types:
        condition = found.get(name)
        if condition is None:
            return in_progress(obj, f"condition {name} is not reported yet")
        if condition.is_outdated(obj):
            return in_progress(
                obj,
                f"{name} speaks for generation "
                f"{condition.observed_generation}",
            )
        if not condition.is_true:
            return in_progress(obj, str(condition))
    return None


ROLLING = "RollingOut"
ROLLOUT_CONDITIONS = (
    ROLLING,
    "ScalingUp",
    "ScalingDown",
    "Remediating",
    "Updating",
)
"""Conditions that are True while something is going on."""


def not_observed(
    obj: Manifest, condition: Condition | None = None
) -> Verdict | None:
    """In progress unless the status contains an observed generation.

    A reconcile that ends in an error leaves the object's number out, maybe
    for long while it works; the deciding condition then has its own.
    """
    if fields.number(obj, base.OBSERVED) is not None:
        return None
    if condition and condition.observed_generation is not None:
        return None
    return in_progress(obj, "its controller has not reported on it yet")


def in_rollout(
    obj: Manifest, found: dict[str, Condition], *, rolling: bool = True
) -> Verdict | None:
    """In progress while something is going on.

    :param rolling: machines that are not up to date count for that.
    """
    for name in ROLLOUT_CONDITIONS:
        condition = found.get(name)
        if condition and condition.is_true and (rolling or name != ROLLING):
            return in_progress(obj, str(condition))
    return None


def counters_mismatch(
    obj: Manifest, where: Path, counters: tuple[str, ...], desired: int
) -> Verdict | None:
    """In progress unless each counter is there and is what was wanted.

    A counter that is absent has not been computed yet; zero is a number.
    """
    for name in counters:
        actual = fields.number(obj, (*where, name))
        if actual != desired:
            shown = "not reported" if actual is None else f"{actual}"
            path = ".".join((*where[1:], name))
            return in_progress(obj, f"{path} {shown}/{desired}")
    return None
