"""What runs pods and keeps them running."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.kinds.base import FOREGROUND
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Rank
from tacker_k8s_cr.kinds.reading import Condition
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import Path
from tacker_k8s_cr.objects import Verdict

REPLICAS: Path = ("spec", "replicas")

POD = GroupKind("", "Pod")
REPLICA_SET = GroupKind("apps", "ReplicaSet")


def deployment(obj: Manifest) -> Verdict:
    if verdict := base.observed(obj):
        return verdict
    found = reading.conditions(obj)
    progressing = found.get("Progressing")
    if progressing and progressing.reason == "ProgressDeadlineExceeded":
        return base.failed(str(progressing))
    wanted = _wanted(obj)
    counters = ("updatedReplicas", "replicas", "availableReplicas")
    if lack := _lack(obj, wanted, counters):
        if reading.true(obj, ("spec", "paused")):
            return base.in_progress(f"paused: {lack}", "Paused/spec.paused")
        return _lacking(lack, found.get("ReplicaFailure"))
    return base.current(f"{wanted} replica(s) available")


def stateful_set(obj: Manifest) -> Verdict:
    if verdict := base.observed(obj):
        return verdict
    wanted = _wanted(obj)
    if lack := _lack(obj, wanted, ("replicas", _available(obj))):
        return base.in_progress(lack)
    strategy = reading.text(obj, ("spec", "updateStrategy", "type"))
    if strategy == "OnDelete":
        # The controller leaves old pods alone until somebody deletes them.
        return base.current(
            f"{wanted} replica(s) available, updated when deleted"
        )
    partition = reading.number(
        obj, ("spec", "updateStrategy", "rollingUpdate", "partition")
    )
    if partition:
        # Only ordinals from the partition upwards are updated.
        due = max(0, wanted - partition)
        updated = _counter(obj, "updatedReplicas")
        if updated < due:
            return base.in_progress(f"updatedReplicas {updated}/{due}")
        return base.current(
            f"{wanted} replica(s) available, {due} of them updated as the "
            f"partition {partition} asks"
        )
    current = reading.text(obj, ("status", "currentRevision"))
    update = reading.text(obj, ("status", "updateRevision"))
    if current != update:
        updated = _counter(obj, "updatedReplicas")
        return base.in_progress(
            f"updatedReplicas {updated}/{wanted}, revision {update} is not "
            f"the current one yet"
        )
    return base.current(f"{wanted} replica(s) available")


def daemon_set(obj: Manifest) -> Verdict:
    if verdict := base.observed(obj):
        return verdict
    wanted = _counter(obj, "desiredNumberScheduled")
    if not wanted:
        return base.current("no node matches")
    strategy = reading.text(obj, ("spec", "updateStrategy", "type"))
    counters = ["currentNumberScheduled", "numberAvailable"]
    if strategy != "OnDelete":
        counters.insert(0, "updatedNumberScheduled")
    if lack := _lack(obj, wanted, counters):
        return base.in_progress(lack)
    return base.current(f"available on {wanted} node(s)")


def replica_set(obj: Manifest) -> Verdict:
    """A ReplicaSet, and a ReplicationController, which says the same."""
    if verdict := base.observed(obj):
        return verdict
    wanted = _wanted(obj)
    counters = ("fullyLabeledReplicas", "replicas", "availableReplicas")
    if lack := _lack(obj, wanted, counters):
        failure = reading.conditions(obj).get("ReplicaFailure")
        return _lacking(lack, failure)
    return base.current(f"{wanted} replica(s) available")


def _wanted(obj: Manifest) -> int:
    """The server fills in 1 where a manifest says nothing."""
    found = reading.number(obj, REPLICAS)
    return 1 if found is None else found


def _counter(obj: Manifest, name: str) -> int:
    """These kinds leave a counter out when it is zero."""
    return reading.number(obj, ("status", name)) or 0


def _available(obj: Manifest) -> str:
    """Servers before 1.22 count only what is ready."""
    known = reading.number(obj, ("status", "availableReplicas")) is not None
    return "availableReplicas" if known else "readyReplicas"


def _lack(
    obj: Manifest, wanted: int, counters: tuple[str, ...] | list[str]
) -> str:
    """The first counter that is not what was wanted, or nothing."""
    for name in counters:
        have = _counter(obj, name)
        if have != wanted:
            return f"{name} {have}/{wanted}"
    return ""


def _lacking(lack: str, failure: Condition | None) -> Verdict:
    """Pods that cannot even be made: a quota, or an admission that denies."""
    if failure and failure.true:
        return base.in_progress(f"{lack}; {failure}", failure.signal)
    return base.in_progress(lack)


def _replica_sets(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    return reading.selected(REPLICA_SET, obj, ("spec", "selector"))


def _pods(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    return reading.selected(POD, obj, ("spec", "selector"))


# The accounts and the configuration of their Pods go next, and these may
# need them until they have shut down.
HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind("apps", "Deployment"): Handler(
        deployment,
        Rank.WORKLOAD,
        REPLICAS,
        made=_replica_sets,
        propagation=FOREGROUND,
    ),
    GroupKind("apps", "StatefulSet"): Handler(
        stateful_set,
        Rank.WORKLOAD,
        REPLICAS,
        made=_pods,
        propagation=FOREGROUND,
    ),
    GroupKind("apps", "DaemonSet"): Handler(
        daemon_set, Rank.WORKLOAD, made=_pods, propagation=FOREGROUND
    ),
    REPLICA_SET: Handler(
        replica_set,
        Rank.WORKLOAD,
        REPLICAS,
        made=_pods,
        propagation=FOREGROUND,
    ),
    GroupKind("", "ReplicationController"): Handler(
        replica_set,
        Rank.WORKLOAD,
        REPLICAS,
        made=_pods,
        propagation=FOREGROUND,
    ),
}
