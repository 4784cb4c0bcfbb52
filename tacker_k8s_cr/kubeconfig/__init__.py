"""A kubeconfig as a value that cannot be printed."""

from tacker_k8s_cr.kubeconfig.reading import in_cluster
from tacker_k8s_cr.kubeconfig.reading import load
from tacker_k8s_cr.kubeconfig.reading import parse
from tacker_k8s_cr.kubeconfig.reading import server_url
from tacker_k8s_cr.kubeconfig.value import Kubeconfig
from tacker_k8s_cr.kubeconfig.value import OpenId

__all__ = ("Kubeconfig", "OpenId", "in_cluster", "load", "parse", "server_url")
