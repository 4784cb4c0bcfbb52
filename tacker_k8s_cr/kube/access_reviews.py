"""What the server says about the rights of who asks."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import json
from typing import Any

from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.http_model import Response
from tacker_k8s_cr.kube.http.verbs import JSON
from tacker_k8s_cr.model.objects import field
from tacker_k8s_cr.model.permissions import Permission
from tacker_k8s_cr.model.permissions import PolicyRule

_API = "authorization.k8s.io/v1"

Send = Callable[[Request], Response]


def allowed(send: Send, right: Permission) -> bool:
    """Whether the authorizer allows it; about one name, or about all."""
    plural, _, subresource = right.resource.partition("/")
    attributes = {
        "group": right.group,
        "resource": plural,
        "subresource": subresource,
        "namespace": right.namespace,
        "verb": right.verb,
        "name": next(iter(right.names)) if len(right.names) == 1 else "",
    }
    spec = {"resourceAttributes": attributes}
    status = _reviewed(send, "SelfSubjectAccessReview", spec)
    return status.get("allowed") is True


def rules(send: Send, namespace: str) -> Sequence[PolicyRule]:
    """What the authorizers list; some cannot, and list nothing."""
    spec = {"namespace": namespace}
    status = _reviewed(send, "SelfSubjectRulesReview", spec)
    return tuple(
        PolicyRule(
            frozenset(rule.get("apiGroups") or ()),
            frozenset(rule.get("resources") or ()),
            frozenset(rule.get("verbs") or ()),
            frozenset(rule.get("resourceNames") or ()),
        )
        for rule in status.get("resourceRules") or ()
    )


def _reviewed(
    send: Send, kind: str, spec: Mapping[str, Any]
) -> Mapping[str, Any]:
    plural = f"{kind.lower()}s"
    body = {"apiVersion": _API, "kind": kind, "spec": spec}
    answer = send(
        Request(
            "create",
            "POST",
            f"/apis/{_API}/{plural}",
            f"{plural}.{_API.partition('/')[0]}",
            body=json.dumps(body).encode(),
            content_type=JSON,
        )
    )
    status: Mapping[str, Any] = field(answer.body, ("status",), {})
    return status
