"""Report what uses a volume or a volume claim that is being deleted."""

from __future__ import annotations

from collections.abc import Iterator

from tacker_k8s_cr.engine import owner_references
from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

POD = GroupKind("", "Pod")

MAX_PODS = 5
"""Maximum number of Pods to name."""

FINISHED = ("Succeeded", "Failed")
"""Phases of Pods that no longer hold a claim."""


def describe_users(cluster: Cluster, obj: Manifest) -> Iterator[str]:
    """Yield a line for each user of a volume or a claim.

    What cannot be read is left out.
    """
    ref = ObjectRef.of(obj)
    if ref.group_kind == claims.VOLUME and (claim := claims.bound_claim(obj)):
        live = _read_metadata(cluster, claim)
        uid = objects.field(obj, ("spec", "claimRef", "uid"))
        if live is not None and objects.uid(live) == uid:
            yield f"it is bound to {claim}{_describe_claim(cluster, live)}"
    if ref.group_kind == claims.CLAIM:
        for pod in _list_pods(cluster, ref)[:MAX_PODS]:
            owner = _describe_owner(cluster, pod)
            yield f"it is used by {ObjectRef.of(pod)}{owner}"


def _describe_claim(cluster: Cluster, claim: Manifest) -> str:
    """Return the Pods of a claim and its origin, in parentheses."""
    ref = ObjectRef.of(claim)
    parts = []
    if objects.field(claim, ("metadata", "deletionTimestamp")):
        parts.append("which is being deleted, too")
    if pods := _list_pods(cluster, ref):
        pod_names = ", ".join(
            str(ObjectRef.of(pod)) for pod in pods[:MAX_PODS]
        )
        parts.append(f"used by {pod_names}")
    if stateful_set := _describe_stateful_set(cluster, ref):
        parts.append(f"of {stateful_set}")
    elif owners := owner_references.owners(claim):
        parts.append(f"owned by {next(iter(owners.values()))}")
    elif instance := objects.labels(claim).get(objects.INSTANCE):
        parts.append(f"of instance {instance}")
    return f" ({'; '.join(parts)})" if parts else ""


def _describe_stateful_set(cluster: Cluster, claim: ObjectRef) -> str:
    """Return the StatefulSet that uses claims of this name."""
    kind = claims.STATEFUL_SET
    try:
        listed = list(cluster.list_objects(kind, claim.namespace))
    except errors.Error:
        return ""
    for obj in listed:
        rule = claims.claim_rule(obj)
        if rule and claims.has_claim_name(rule, claim):
            return f"{rule.stateful_set}{_describe_instance(obj)}"
    return ""


def _describe_owner(cluster: Cluster, pod: Manifest) -> str:
    for owner in owner_references.owners(pod).values():
        metadata = _read_metadata(cluster, owner) or {}
        return f" (of {owner}{_describe_instance(metadata)})"
    return ""


def _describe_instance(obj: Manifest) -> str:
    name = objects.labels(obj).get(objects.INSTANCE)
    return f" of instance {name}" if name else ""


def _list_pods(cluster: Cluster, claim: ObjectRef) -> list[Manifest]:
    """Return the Pods that use a claim and have not finished."""
    try:
        listed = list(cluster.list_objects(POD, claim.namespace))
    except errors.Error:
        return []
    return [
        pod
        for pod in listed
        if objects.field(pod, ("status", "phase")) not in FINISHED
        and claim in claims.mounted_claims(pod)
    ]


def _read_metadata(cluster: Cluster, ref: ObjectRef) -> Manifest | None:
    try:
        return cluster.get_metadata(ref)
    except errors.Error:
        return None
