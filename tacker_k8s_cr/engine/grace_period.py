"""Give the Pods of what is deleted no more time than was asked for.

The server hands no grace period on from a workload to its Pods.
"""

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

BETWEEN = (GroupKind("apps", "ReplicaSet"), GroupKind("batch", "Job"))
"""What workloads make, that makes Pods."""

WORKLOADS = ("apps", "batch")
"""Groups of the kinds that have Pods."""


def apply_grace_period(
    cluster: Cluster,
    going: Mapping[ObjectRef, str],
    seconds: int,
    guard: Callable[[], None] = lambda: None,
) -> None:
    """Set the grace period of the Pods of these workloads in seconds.

    A Pod with a shorter grace period keeps it: the server only shortens.

    :param going: objects whose deletion is requested, with UIDs.
    """
    workloads = {
        ref: uid
        for ref, uid in going.items()
        if ref.group in WORKLOADS or ref.kind == "ReplicationController"
    }
    places = sorted({ref.namespace for ref in workloads})
    listed: list[Manifest] = []
    for kind in (*BETWEEN, POD):
        for namespace in places:
            with contextlib.suppress(errors.Forbidden):
                listed.extend(cluster.list_objects(kind, namespace))
    ours = owner_references.transitive_dependents(listed, workloads.values())
    pods = [
        obj
        for obj in listed
        if GroupKind.of(obj) == POD
        and objects.uid(obj) in ours
        and _grace(obj) > seconds
    ]

    def one(pod: Manifest) -> None:
        guard()
        ref, uid = ObjectRef.of(pod), objects.uid(pod)
        cluster.delete(ref, uid, grace_seconds=seconds)

    with contextlib.closing(cluster.map_parallel(one, pods)) as outcomes:
        for pod, outcome in outcomes:
            if isinstance(outcome, errors.Forbidden):
                LOG.info(
                    "%s: has its own time: %s", ObjectRef.of(pod), outcome
                )
            elif isinstance(outcome, errors.Error):
                raise outcome


def _grace(pod: Manifest) -> int:
    """What a Pod has: it may have begun to end already."""
    given = objects.field(pod, ("metadata", "deletionGracePeriodSeconds"))
    own = objects.field(pod, ("spec", "terminationGracePeriodSeconds"), 30)
    found: int = own if given is None else given
    return found
