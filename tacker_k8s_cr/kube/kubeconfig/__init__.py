"""A kubeconfig as a value that cannot be printed."""

from tacker_k8s_cr.kube.kubeconfig.loader import for_server
from tacker_k8s_cr.kube.kubeconfig.loader import in_cluster
from tacker_k8s_cr.kube.kubeconfig.loader import load
from tacker_k8s_cr.kube.kubeconfig.loader import parse
from tacker_k8s_cr.kube.kubeconfig.model import Kubeconfig
from tacker_k8s_cr.kube.kubeconfig.model import OidcUser
from tacker_k8s_cr.kube.kubeconfig.select_context import server_url

__all__ = (
    "Kubeconfig",
    "OidcUser",
    "for_server",
    "in_cluster",
    "load",
    "parse",
    "server_url",
)
