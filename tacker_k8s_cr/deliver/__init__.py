"""A workload cluster's kubeconfig, from its Secret to a receipt."""

from tacker_k8s_cr.deliver.delivery import Delivery
from tacker_k8s_cr.deliver.delivery import Probe
from tacker_k8s_cr.deliver.delivery import deliver
from tacker_k8s_cr.deliver.message import issued
from tacker_k8s_cr.deliver.message import terminated
from tacker_k8s_cr.deliver.receipt import Receipt

__all__ = ("Delivery", "Probe", "Receipt", "deliver", "issued", "terminated")
