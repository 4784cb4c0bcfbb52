"""Match the response to a request: pure."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import http.client
import re
from typing import Any

from tacker_k8s_cr.kube.http import server_messages
from tacker_k8s_cr.kube.http.http_model import APPLY
from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.http_model import Response
from tacker_k8s_cr.kube.http.http_model import Retryable
from tacker_k8s_cr.model import redaction
from tacker_k8s_cr.model.errors import Conflict
from tacker_k8s_cr.model.errors import DependencyMissing
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.errors import Rejected
from tacker_k8s_cr.model.errors import Unavailable
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import field


@dataclasses.dataclass(frozen=True)
class Exchange:
    """A response with its request, and the parts to match."""

    request: Request
    answer: Response
    server: str

    @property
    def said(self) -> str:
        """The server's message, for matching; it may contain a secret."""
        return str(self.answer.body.get("message", ""))

    @property
    def message(self) -> str:
        """The redacted message, which may be shown."""
        request = self.request
        kind = request.ref.kind if request.ref else ""
        return redaction.redact(self.said, kind, request.body)

    @property
    def reason(self) -> str:
        return str(self.answer.body.get("reason", ""))

    @property
    def causes(self) -> list[Mapping[str, Any]]:
        return list(field(self.answer.body, ("details", "causes"), ()))

    @property
    def subject(self) -> ObjectRef:
        """The object of the request; for a list, the resource."""
        return self.request.ref or ObjectRef(
            "", self.request.resource, self.request.namespace, "*"
        )

    def rejected(
        self, *, by_admission: bool = False, schema_mismatch: bool = False
    ) -> Error:
        code = self.answer.code
        reason = self.reason or http.client.responses.get(code, "Error")
        said = server_messages.plain_text(self.message)
        fields = (
            server_messages.fields(self.message) if schema_mismatch else ()
        )
        return Rejected(
            self.subject,
            code,
            reason,
            said,
            by_admission,
            schema_mismatch,
            fields,
        )

    def not_yet(self, **more: Any) -> DependencyMissing:
        return DependencyMissing(self.subject, self.message, **more)

    def outdated(self) -> Error:
        return Conflict(self.subject, self.message, self.answer.code)

    def retryable(
        self, patience: float, carried_out: bool = False
    ) -> Retryable:
        code = self.answer.code
        why = Unavailable(str(self.request), code, self.message)
        after = self.answer.retry_after
        return Retryable(why, after, patience, carried_out)

    @property
    def writes(self) -> bool:
        return self.request.verb in ("create", "update", "patch")

    @property
    def missing(self) -> str:
        """The kind that the server reports as not found."""
        return str(field(self.answer.body, ("details", "kind"), ""))


# -- Matchers ----------------------------------------------------------------


def message_matches(pattern: str) -> Callable[[Exchange], bool]:
    found = re.compile(pattern)
    return lambda case: bool(found.search(case.said))


def status_in(*codes: int) -> Callable[[Exchange], bool]:
    """Match one of these codes; 4 stands for all from 400 to 499."""

    def fits(case: Exchange) -> bool:
        code = case.answer.code
        return code in codes or code // 100 in codes

    return fits


def has_cause(code: int, key: str, value: str) -> Callable[[Exchange], bool]:
    def fits(case: Exchange) -> bool:
        return case.answer.code == code and any(
            cause.get(key) == value for cause in case.causes
        )

    return fits


def terminating(case: Exchange) -> bool:
    return has_cause(403, "reason", "NamespaceTerminating")(case) or bool(
        re.search("because it is being terminated", case.said)
    )


def unauthorized(case: Exchange) -> bool:
    """Match the authorizer's refusal; admission only refuses objects."""
    return case.answer.code == 403 and bool(
        case.request.ref is None or _AUTHORIZER.search(case.said)
    )


def namespace_missing(case: Exchange) -> bool:
    return (
        case.answer.code == 404
        and case.writes
        and case.missing == "namespaces"
        and case.subject.kind != "Namespace"
    )


def role_missing(case: Exchange) -> bool:
    """Return whether the server did not find the role of a binding.

    Unless the user may ``bind`` the role, the server reads its rules to
    compare them with the user's own. It reports a missing role as if the
    binding did not exist; as an apply creates a missing object, a 404 has
    no other meaning.
    """
    return (
        case.answer.code == 404
        and case.request.content_type == APPLY
        and case.subject.group_kind in _BINDINGS
        and bool(field(case.answer.body, ("details", "name")))
    )


def unserved(case: Exchange) -> bool:
    """Match a missing path: the kind is not served yet, or no longer."""
    if case.answer.code != 404:
        return False
    if case.writes:
        return not field(case.answer.body, ("details", "name"))
    return not case.missing


def concurrent_writers(case: Exchange) -> bool:
    """Match a conflict of two writers without a resourceVersion."""
    return (
        case.answer.code == 409
        and (
            case.request.content_type == APPLY or case.request.verb == "delete"
        )
        and not _ABOUT_UID.search(case.said)
    )


_BINDINGS = frozenset(
    GroupKind("rbac.authorization.k8s.io", kind)
    for kind in ("ClusterRoleBinding", "RoleBinding")
)

_AUTHORIZER = re.compile(r'[Uu]ser "[^"]*" cannot \S+ (resource|path) ')
_ABOUT_UID = re.compile(r"\buid\b|\bUID\b")
