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

NEWER: Path = ("status", "v1beta2", "conditions")
"""The new conditions, in an object read at the old version."""

OLDER: Path = ("status", "deprecated", "v1beta1", "conditions")
"""The old conditions, in an object read at the new version."""

PAUSED = "cluster.x-k8s.io/paused"
"""Annotation that stops the controllers of one object."""

PASSING = frozenset(
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

PARTS = (contract.INFRASTRUCTURE_GROUP, contract.BOOTSTRAP_GROUP)
OF_PARTS = ("BootstrapConfigReady", "InfrastructureReady")
"""Groups of what providers make, and conditions that repeat its words."""

WRONG = frozenset(
    {"ReconcileFailed", "ClusterClassNotReconciled", "TopologyReconcileFailed"}
)
"""Reasons of TopologyReconciled that mean trouble, not work."""


def common_verdict(obj: Manifest) -> Verdict | None:
    """What can be said before looking at what the kind is for."""
    verdict = base.common_verdict(obj)
    if verdict and verdict.state is State.TERMINATING:
        deleting = all_conditions(obj).get("Deleting")
        if deleting and deleting.true and deleting.reason:
            return Verdict(State.TERMINATING, f"{verdict.reason}; {deleting}")
        return verdict
    # A paused object does not even report which generation it saw.
    if why := paused(obj):
        return base.in_progress(f"paused: {why}", "Paused/Paused")
    return verdict or _failed(obj)


def all_conditions(obj: Manifest) -> dict[str, Condition]:
    """All conditions, those of the object's own version before others."""
    return {
        **fields.conditions(obj, OLDER),
        **fields.conditions(obj, NEWER),
        **fields.conditions(obj),
    }


def paused(obj: Manifest) -> str:
    """Return why the object is paused; empty if it is not."""
    if fields.is_true(obj, ("spec", "paused")):
        return "spec.paused is true"
    if PAUSED in fields.annotations_of(obj):
        return f"it has the annotation {PAUSED}"
    condition = all_conditions(obj).get("Paused")
    if condition and condition.true:
        return str(condition)
    return ""


def _failed(obj: Manifest) -> Verdict | None:
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
    if topology and topology.false and topology.reason in WRONG:
        return topology
    found = {**fields.conditions(obj, OLDER), **fields.conditions(obj)}
    # Ready repeats the worst of the others; their own type is more specific.
    for name in sorted(found, key=lambda name: (name == "Ready", name)):
        condition = found[name]
        severe = _is_severe(obj, condition)
        # A summary names the origin of its reason: "PodMissing @ Machine/a".
        reason = condition.reason.partition(" @ ")[0]
        if condition.false and severe and reason not in PASSING:
            return condition
    kept: Path = ("status", "deprecated", "v1beta1")
    if reason := fields.text(obj, (*kept, "failureReason")):
        message = fields.text(obj, (*kept, "failureMessage"))
        return Condition("failureReason", "True", reason, message)
    return None


def _is_severe(obj: Manifest, condition: Condition) -> bool:
    """By the older contract's severity; the newer one only has reasons."""
    if condition.severity:
        return condition.severity == "Error"
    group = GroupKind.of(obj).group
    if group in PARTS or condition.type in OF_PARTS:
        return event_reasons.is_persistent_error(condition.reason)
    return condition.reason in event_reasons.VAIN


def waiting(obj: Manifest, reason: str) -> Verdict:
    """In progress, with the error that the object shows, if any."""
    wrong = error(obj)
    if wrong is None:
        return base.in_progress(reason)
    if not reason.startswith(wrong.type):
        reason = f"{reason}; {wrong}"
    return base.in_progress(reason, wrong.signal)


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
            return waiting(obj, f"condition {name} is not reported yet")
        if condition.behind(obj):
            return waiting(
                obj, f"{name} speaks for generation {condition.seen}"
            )
        if not condition.true:
            return waiting(obj, str(condition))
    return None


ROLLING = "RollingOut"
BUSY = (ROLLING, "ScalingUp", "ScalingDown", "Remediating", "Updating")
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
    if condition and condition.seen is not None:
        return None
    return waiting(obj, "its controller has not reported on it yet")


def in_rollout(
    obj: Manifest, found: dict[str, Condition], *, rolling: bool = True
) -> Verdict | None:
    """In progress while something is going on.

    :param rolling: machines that are not up to date count for that.
    """
    for name in BUSY:
        condition = found.get(name)
        if condition and condition.true and (rolling or name != ROLLING):
            return waiting(obj, str(condition))
    return None


def counters_mismatch(
    obj: Manifest, where: Path, counters: tuple[str, ...], wanted: int
) -> Verdict | None:
    """In progress unless each counter is there and is what was wanted.

    A counter that is absent has not been computed yet; zero is a number.
    """
    for name in counters:
        have = fields.number(obj, (*where, name))
        if have != wanted:
            shown = "not reported" if have is None else f"{have}"
            path = ".".join((*where[1:], name))
            return waiting(obj, f"{path} {shown}/{wanted}")
    return None
