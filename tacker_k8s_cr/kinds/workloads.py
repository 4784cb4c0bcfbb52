"""What runs pods and keeps them running."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import FOREGROUND
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.fields import Condition
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import ownership
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.model.objects import Verdict

REPLICAS: Path = ("spec", "replicas")

POD = GroupKind("", "Pod")
REPLICA_SET = GroupKind("apps", "ReplicaSet")


def deployment(obj: Manifest) -> Verdict:
    if verdict := base.observed_verdict(obj):
        return verdict
    found = fields.conditions(obj)
    progressing = found.get("Progressing")
    if progressing and progressing.reason == "ProgressDeadlineExceeded":
        if not _is_outdated(obj):
            return base.failed(str(progressing))
        return base.in_progress(
            f"{progressing}, from before the last change", progressing.as_error
        )
    desired = _desired_replicas(obj)
    counters = ("updatedReplicas", "replicas", "availableReplicas")
    if mismatch := _counter_mismatch(obj, desired, counters):
        if fields.is_true(obj, ("spec", "paused")):
            return base.in_progress(
                f"paused: {mismatch}", "Paused/spec.paused"
            )
        return _mismatch_verdict(mismatch, found.get("ReplicaFailure"))
    return base.current(f"{desired} replica(s) available")


def _is_outdated(obj: Manifest) -> bool:
    """Return whether Progressing was written before the last change.

    The controller reports the new generation before it has made progress
    with it, and replaces the condition only then.
    """
    written = ownership.last_spec_write_time(obj)
    return any(
        one.get("type") == "Progressing"
        and "" < str(one.get("lastUpdateTime") or "") <= written
        for one in objects.field(obj, ("status", "conditions"), ())
    )


def stateful_set(obj: Manifest) -> Verdict:
    if verdict := base.observed_verdict(obj):
        return verdict
    desired = _desired_replicas(obj)
    if mismatch := _counter_mismatch(
        obj, desired, ("replicas", _available_counter(obj))
    ):
        return base.in_progress(mismatch)
    strategy = fields.text(obj, ("spec", "updateStrategy", "type"))
    if strategy == "OnDelete":
        # The controller keeps old pods until they are deleted.
        return base.current(
            f"{desired} replica(s) available, updated when deleted"
        )
    partition = fields.number(
        obj, ("spec", "updateStrategy", "rollingUpdate", "partition")
    )
    if partition:
        # Only ordinals from the partition upwards are updated.
        due = max(0, desired - partition)
        updated = _counter(obj, "updatedReplicas")
        if updated < due:
            return base.in_progress(f"updatedReplicas {updated}/{due}")
        return base.current(
            f"{desired} replica(s) available, {due} of them updated as the "
            f"partition {partition} asks"
        )
    current = fields.text(obj, ("status", "currentRevision"))
    update = fields.text(obj, ("status", "updateRevision"))
    if current != update:
        updated = _counter(obj, "updatedReplicas")
        return base.in_progress(
            f"updatedReplicas {updated}/{desired}, revision {update} is not "
            f"the current one yet"
        )
    return base.current(f"{desired} replica(s) available")


def daemon_set(obj: Manifest) -> Verdict:
    if verdict := base.observed_verdict(obj):
        return verdict
    desired = _counter(obj, "desiredNumberScheduled")
    if not desired:
        return base.current("no node matches")
    strategy = fields.text(obj, ("spec", "updateStrategy", "type"))
    counters = ["currentNumberScheduled", "numberAvailable"]
    if strategy != "OnDelete":
        counters.insert(0, "updatedNumberScheduled")
    if mismatch := _counter_mismatch(obj, desired, counters):
        return base.in_progress(mismatch)
    return base.current(f"available on {desired} node(s)")


def replica_set(obj: Manifest) -> Verdict:
    """Judge a ReplicaSet or a ReplicationController."""
    if verdict := base.observed_verdict(obj):
        return verdict
    desired = _desired_replicas(obj)
    counters = ("fullyLabeledReplicas", "replicas", "availableReplicas")
    if mismatch := _counter_mismatch(obj, desired, counters):
        failure = fields.conditions(obj).get("ReplicaFailure")
        return _mismatch_verdict(mismatch, failure)
    return base.current(f"{desired} replica(s) available")


def _desired_replicas(obj: Manifest) -> int:
    """Return the desired replicas; the server sets 1 by default."""
    found = fields.number(obj, REPLICAS)
    return 1 if found is None else found


def _counter(obj: Manifest, name: str) -> int:
    """These kinds leave a counter out when it is zero."""
    return fields.number(obj, ("status", name)) or 0


def _available_counter(obj: Manifest) -> str:
    """Servers before 1.22 count only what is ready."""
    is_reported = (
        fields.number(obj, ("status", "availableReplicas")) is not None
    )
    return "availableReplicas" if is_reported else "readyReplicas"


def _counter_mismatch(
    obj: Manifest, desired: int, counters: tuple[str, ...] | list[str]
) -> str:
    """The first counter that is not what was wanted, or nothing."""
    for name in counters:
        actual = _counter(obj, name)
        if actual != desired:
            return f"{name} {actual}/{desired}"
    return ""


def _mismatch_verdict(mismatch: str, failure: Condition | None) -> Verdict:
    """Pods that cannot even be made: a quota, or an admission that denies."""
    if failure and failure.is_true:
        return base.in_progress(f"{mismatch}; {failure}", failure.as_error)
    return base.in_progress(mismatch)


def _replica_sets(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    return fields.selected_children(REPLICA_SET, obj, ("spec", "selector"))


def _pods(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    return fields.selected_children(POD, obj, ("spec", "selector"))


# The accounts and the configuration of their Pods go next, and these may
# need them until they have shut down.
HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind("apps", "Deployment"): Handler(
        deployment,
        ApplyOrder.WORKLOAD,
        REPLICAS,
        child_selectors=_replica_sets,
        propagation=FOREGROUND,
    ),
    GroupKind("apps", "StatefulSet"): Handler(
        stateful_set,
        ApplyOrder.WORKLOAD,
        REPLICAS,
        child_selectors=_pods,
        propagation=FOREGROUND,
    ),
    GroupKind("apps", "DaemonSet"): Handler(
        daemon_set,
        ApplyOrder.WORKLOAD,
        child_selectors=_pods,
        propagation=FOREGROUND,
    ),
    REPLICA_SET: Handler(
        replica_set,
        ApplyOrder.WORKLOAD,
        REPLICAS,
        child_selectors=_pods,
        propagation=FOREGROUND,
    ),
    GroupKind("", "ReplicationController"): Handler(
        replica_set,
        ApplyOrder.WORKLOAD,
        REPLICAS,
        child_selectors=_pods,
        propagation=FOREGROUND,
    ),
}
