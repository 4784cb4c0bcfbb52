"""Signed HTTP to a receiver, in the form of Standard Webhooks."""

from tacker_k8s_cr.delivery.webhook.receiver import Receiver
from tacker_k8s_cr.delivery.webhook.receiver import message_id
from tacker_k8s_cr.delivery.webhook.receiver import signature
from tacker_k8s_cr.delivery.webhook.sender import Accepted
from tacker_k8s_cr.delivery.webhook.sender import post

__all__ = ["Accepted", "Receiver", "message_id", "post", "signature"]
