"""Waiting for the Secret in which a Cluster's kubeconfig lies."""

from __future__ import annotations

from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.deliver import awaiting
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.workload import KEY
from tacker_k8s_cr.workload import check_endpoint
from tacker_k8s_cr.workload import kubeconfig_of
from tacker_k8s_cr.workload import secret_ref

__all__ = [
    "CLUSTER_NAME",
    "KEY",
    "awaited",
    "check_endpoint",
    "kubeconfig_of",
    "secret_ref",
]

CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
"""Label that Cluster API demands of a cluster's Secrets."""


def awaited(
    cluster: Cluster, workload: ObjectRef, deadline: Deadline
) -> Manifest:
    """The Secret of a Cluster, once it is there.

    Raises NotReady when time is up.
    """
    return awaiting.awaited(
        cluster,
        secret_ref(workload),
        f"{CLUSTER_NAME}={workload.name}",
        deadline,
        why=f"it is not there; {workload} keeps its kubeconfig in it",
    )
