"""Ask the server about the permissions of the user."""

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


def is_allowed(send: Send, permission: Permission) -> bool:
    """Whether the authorizer allows it, for one name or for all."""
    plural, _, subresource = permission.resource.partition("/")
    attributes = {
        "group": permission.group,
        "resource": plural,
        "subresource": subresource,
        "namespace": permission.namespace,
        "verb": permission.verb,
        "name": next(iter(permission.names))
        if len(permission.names) == 1
        else "",
    }
    spec = {"resourceAttributes": attributes}
    status = _review(send, "SelfSubjectAccessReview", spec)
    return status.get("allowed") is True


def list_rules(send: Send, namespace: str) -> Sequence[PolicyRule]:
    """Return the rules that the authorizers list; some list none."""
    spec = {"namespace": namespace}
    status = _review(send, "SelfSubjectRulesReview", spec)
    return tuple(
        PolicyRule(
            frozenset(rule.get("apiGroups") or ()),
            frozenset(rule.get("resources") or ()),
            frozenset(rule.get("verbs") or ()),
            frozenset(rule.get("resourceNames") or ()),
        )
        for rule in status.get("resourceRules") or ()
    )


def _review(
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
