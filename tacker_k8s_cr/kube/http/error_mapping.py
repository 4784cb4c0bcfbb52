"""Map a response to an error of the package: pure."""

from __future__ import annotations

from collections.abc import Mapping
import json
import re
from typing import Any

from tacker_k8s_cr.kube.http import webhook_calls
from tacker_k8s_cr.kube.http.http_model import APPLY
from tacker_k8s_cr.kube.http.http_model import NotFound
from tacker_k8s_cr.kube.http.http_model import ResourceExpired
from tacker_k8s_cr.kube.http.http_model import ResourceNotServed
from tacker_k8s_cr.kube.http.http_model import ResourceNotServedOnWrite
from tacker_k8s_cr.kube.http.http_model import Retryable
from tacker_k8s_cr.kube.http.response_matchers import Exchange
from tacker_k8s_cr.model.errors import DependencyMissing
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.errors import FieldConflict
from tacker_k8s_cr.model.errors import Forbidden
from tacker_k8s_cr.model.errors import Outlook
from tacker_k8s_cr.model.errors import Unauthenticated
from tacker_k8s_cr.model.objects import field

BUSY_SECONDS = 120.0
"""Seconds for which a request to a busy server is retried."""

FAULT_SECONDS = 10.0
"""Seconds for which a request is retried after a fault or a conflict."""


def unauthenticated(case: Exchange) -> Error:
    said = case.message if case.message != "Unauthorized" else ""
    return Unauthenticated(case.server, said)


def forbidden(case: Exchange) -> Error:
    request = case.request
    return Forbidden(
        request.verb, request.resource, request.namespace, case.message
    )


def not_served(case: Exchange) -> Error:
    if case.writes:
        why = "the server does not serve its kind"
        return ResourceNotServedOnWrite(case.subject, why)
    return ResourceNotServed(f"{case.request}: its kind is not served")


def absent(case: Exchange) -> Error:
    if case.writes:
        return case.outdated()
    return NotFound(f"{case.request}: not there")


def conflict(case: Exchange) -> Error:
    owned = {
        str(cause.get("field", "")).removeprefix("."): _manager(cause)
        for cause in case.causes
        if cause.get("reason") == "FieldManagerConflict"
    }
    return FieldConflict(case.subject, owned)


_MANAGER = re.compile(r'conflicts? with "([^"]+)"')


def _manager(cause: Mapping[str, Any]) -> str:
    found = _MANAGER.search(str(cause.get("message", "")))
    return found.group(1) if found else "another manager"


def webhook_unreachable(case: Exchange) -> Error | Retryable:
    """Return the error for a webhook that cannot be called.

    The caller repeats an apply, and the stream repeats a watch. A request
    is not repeated if only another certificate would help.
    """
    call = webhook_calls.parse_failure(case.message)
    error = case.not_yet(
        webhook=call.hook, cause=call.cause, outlook=call.outlook
    )
    request = case.request
    if call.outlook is Outlook.NONE:
        return error
    if request.content_type == APPLY or request.verb == "watch":
        return error
    return Retryable(error, case.answer.retry_after, BUSY_SECONDS)


def dependency_missing(case: Exchange) -> Error:
    """Return the error for a missing object that the package may contain."""
    for kind, pattern in _MEMBERS:
        if found := pattern.search(case.said):
            return case.not_yet(missing=(kind, found[1]))
    return case.not_yet()


_MEMBERS = (
    (
        "PriorityClass",
        re.compile(r"no PriorityClass with name (\S+) was found"),
    ),
    ("RuntimeClass", re.compile(r'RuntimeClass "([^"]+)" not found')),
)


def unbound(case: Exchange) -> Error:
    """Return the error for a role that does not exist, or not yet."""
    body = json.loads(case.request.body or b"{}")
    kind = str(field(body, ("roleRef", "kind"), ""))
    name = str(field(body, ("roleRef", "name"), ""))
    if kind == "Role":
        name = f"{case.subject.namespace}/{name}"
    return DependencyMissing(
        case.subject,
        f"it refers to {kind} {name}, which does not exist; only a user with "
        f"the verb bind on the role can create the binding before the role",
        missing=(kind, name),
    )


def denied(case: Exchange) -> Error:
    return case.rejected(by_admission=True)


def misfit(case: Exchange) -> Error:
    return case.rejected(schema_mismatch=True)


def expired(case: Exchange) -> Error:
    return ResourceExpired(f"{case.request}: {case.message}")


def server_error(case: Exchange) -> Retryable:
    return case.retryable(FAULT_SECONDS, carried_out=True)


def busy(case: Exchange) -> Retryable:
    return case.retryable(BUSY_SECONDS)


def timed_out(case: Exchange) -> Retryable:
    return case.retryable(BUSY_SECONDS, carried_out=True)
