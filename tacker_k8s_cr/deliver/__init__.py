"""A workload cluster's kubeconfig, from its Secret to a receipt."""

from tacker_k8s_cr.deliver.access import Access
from tacker_k8s_cr.deliver.access import Mode
from tacker_k8s_cr.deliver.delivery import Delivery
from tacker_k8s_cr.deliver.delivery import Probe
from tacker_k8s_cr.deliver.delivery import deliver
from tacker_k8s_cr.deliver.message import issued
from tacker_k8s_cr.deliver.message import terminated
from tacker_k8s_cr.deliver.receipt import Receipt
from tacker_k8s_cr.deliver.withdrawal import withdraw

__all__ = (
    "Access",
    "Delivery",
    "Mode",
    "Probe",
    "Receipt",
    "deliver",
    "issued",
    "terminated",
    "withdraw",
)
