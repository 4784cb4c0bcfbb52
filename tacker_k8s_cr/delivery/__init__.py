"""A workload cluster's kubeconfig, from its Secret to a receipt."""

from tacker_k8s_cr.delivery.credential_mode import CredentialKind
from tacker_k8s_cr.delivery.credential_mode import CredentialMode
from tacker_k8s_cr.delivery.delivery import deliver
from tacker_k8s_cr.delivery.delivery_settings import ApiCheck
from tacker_k8s_cr.delivery.delivery_settings import Delivery
from tacker_k8s_cr.delivery.message import issued_message
from tacker_k8s_cr.delivery.message import terminated_message
from tacker_k8s_cr.delivery.receipt import Receipt
from tacker_k8s_cr.delivery.withdrawal import withdraw

__all__ = (
    "ApiCheck",
    "CredentialKind",
    "CredentialMode",
    "Delivery",
    "Receipt",
    "deliver",
    "issued_message",
    "terminated_message",
    "withdraw",
)
