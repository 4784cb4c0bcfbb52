"""Signed HTTP to a receiver, in the form of Standard Webhooks."""

from tacker_k8s_cr.webhook.posting import Taken
from tacker_k8s_cr.webhook.posting import post
from tacker_k8s_cr.webhook.receiver import Receiver
from tacker_k8s_cr.webhook.receiver import message_id
from tacker_k8s_cr.webhook.receiver import signature

__all__ = ["Receiver", "Taken", "message_id", "post", "signature"]
