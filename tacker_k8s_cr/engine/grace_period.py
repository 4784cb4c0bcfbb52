"""Limit the grace period of the Pods of workloads that are deleted."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import contextlib
import logging

from tacker_k8s_cr.engine import owner_references
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

LOG = logging.getLogger(__name__)

POD = GroupKind("", "Pod")

POD_CONTROLLERS = (GroupKind("apps", "ReplicaSet"), GroupKind("batch", "Job"))
"""Kinds that workloads create, and that create Pods."""

WORKLOAD_GROUPS = ("apps", "batch")
"""Groups of the kinds that have Pods."""


def shorten_grace_periods(
    cluster: Cluster,
    terminating: Mapping[ObjectRef, str],
    seconds: int,
    guard: Callable[[], None] = lambda: None,
) -> None:
    """Set the grace period of the Pods of these workloads in seconds.

    A Pod with a shorter grace period keeps it: the server only shortens.

    :param terminating: objects whose deletion is requested, with UIDs.
    """
    workloads = {
        ref: uid
        for ref, uid in terminating.items()
        if ref.group in WORKLOAD_GROUPS or ref.kind == "ReplicationController"
    }
    namespaces = sorted({ref.namespace for ref in workloads})
    listed: list[Manifest] = []
    for kind in (*POD_CONTROLLERS, POD):
        for namespace in namespaces:
            with contextlib.suppress(errors.Forbidden):
                listed.extend(cluster.list_objects(kind, namespace))
    dependent_uids = owner_references.transitive_dependents(
        listed, workloads.values()
    )
    pods = [
        obj
        for obj in listed
        if GroupKind.of(obj) == POD
        and objects.uid(obj) in dependent_uids
        and _grace_seconds(obj) > seconds
    ]

    def shorten(pod: Manifest) -> None:
        guard()
        ref, uid = ObjectRef.of(pod), objects.uid(pod)
        cluster.delete(ref, uid, grace_seconds=seconds)

    with contextlib.closing(cluster.map_parallel(shorten, pods)) as outcomes:
        for pod, outcome in outcomes:
            if isinstance(outcome, errors.Forbidden):
                LOG.info(
                    "%s: keeps its own grace period: %s",
                    ObjectRef.of(pod),
                    outcome,
                )
            elif isinstance(outcome, errors.Error):
                raise outcome


def _grace_seconds(pod: Manifest) -> int:
    """Return the grace period of a Pod, which may be terminating already."""
    current = objects.field(pod, ("metadata", "deletionGracePeriodSeconds"))
    specified = objects.field(
        pod, ("spec", "terminationGracePeriodSeconds"), 30
    )
    seconds: int = specified if current is None else current
    return seconds
