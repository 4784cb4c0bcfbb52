"""A transport that accepts messages and records them."""

import json

from tacker_k8s_cr.delivery import webhook


class SentMessages:
    """Accepts every message, and records its body."""

    def __init__(self):
        self.bodies = []

    def __call__(self, receiver, body, deadline):
        self.bodies.append(body)
        return webhook.Accepted(webhook.message_id(body), 204, 1)

    @property
    def messages(self):
        return [json.loads(body) for body in self.bodies]

    @property
    def data(self):
        return [message["data"] for message in self.messages]
