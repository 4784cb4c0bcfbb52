"""Wait for the Secret with the kubeconfig of a Cluster."""

from __future__ import annotations

from tacker_k8s_cr.delivery import wait_for_object
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.workload_kubeconfig import KEY
from tacker_k8s_cr.kube.workload_kubeconfig import check_endpoint
from tacker_k8s_cr.kube.workload_kubeconfig import kubeconfig_of
from tacker_k8s_cr.kube.workload_kubeconfig import secret_ref
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

__all__ = [
    "CLUSTER_NAME",
    "KEY",
    "check_endpoint",
    "kubeconfig_of",
    "secret_ref",
    "wait_for_kubeconfig_secret",
]

CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
"""Label that Cluster API requires on a cluster's Secrets."""


def wait_for_kubeconfig_secret(
    cluster: Cluster, workload: ObjectRef, deadline: Deadline
) -> Manifest:
    """Return the Secret of a Cluster, once it exists.

    Raises ReadinessTimeout when the deadline passes.
    """
    return wait_for_object.wait_for(
        cluster,
        secret_ref(workload),
        f"{CLUSTER_NAME}={workload.name}",
        deadline,
        why=f"does not exist; {workload} stores its kubeconfig in it",
    )
