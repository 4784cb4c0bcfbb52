"""A request with its answer, and which answer it is: pure."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import http.client
import re
from typing import Any

from tacker_k8s_cr.cluster import masking
from tacker_k8s_cr.cluster import wording
from tacker_k8s_cr.cluster.answers import APPLY
from tacker_k8s_cr.cluster.answers import Again
from tacker_k8s_cr.cluster.answers import Answer
from tacker_k8s_cr.cluster.answers import Request
from tacker_k8s_cr.errors import Error
from tacker_k8s_cr.errors import NotYet
from tacker_k8s_cr.errors import Outdated
from tacker_k8s_cr.errors import Rejected
from tacker_k8s_cr.errors import Unavailable
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import field


@dataclasses.dataclass(frozen=True)
class Case:
    """An answer with what was asked, and the parts that decide."""

    request: Request
    answer: Answer
    server: str

    @property
    def said(self) -> str:
        """The server's words, to decide by; they may quote a secret."""
        return str(self.answer.body.get("message", ""))

    @property
    def message(self) -> str:
        """The same, as they may be shown."""
        request = self.request
        kind = request.ref.kind if request.ref else ""
        return masking.masked(self.said, kind, request.body)

    @property
    def reason(self) -> str:
        return str(self.answer.body.get("reason", ""))

    @property
    def causes(self) -> list[Mapping[str, Any]]:
        return list(field(self.answer.body, ("details", "causes"), ()))

    @property
    def subject(self) -> ObjectRef:
        """The object of the request; of a list, the resource."""
        return self.request.ref or ObjectRef(
            "", self.request.resource, self.request.namespace, "*"
        )

    def rejected(self, *, denied: bool = False, misfit: bool = False) -> Error:
        code = self.answer.code
        reason = self.reason or http.client.responses.get(code, "Error")
        said = wording.plain(self.message)
        fields = wording.fields(self.message) if misfit else ()
        return Rejected(
            self.subject, code, reason, said, denied, misfit, fields
        )

    def not_yet(self, **more: Any) -> NotYet:
        return NotYet(self.subject, self.message, **more)

    def outdated(self) -> Error:
        return Outdated(self.subject, self.message, self.answer.code)

    def again(self, patience: float, carried_out: bool = False) -> Again:
        code = self.answer.code
        why = Unavailable(str(self.request), code, self.message)
        after = self.answer.retry_after
        return Again(why, after, patience, carried_out)

    @property
    def writes(self) -> bool:
        return self.request.verb in ("create", "update", "patch")

    @property
    def missing(self) -> str:
        """What kind of thing the server says is not there."""
        return str(field(self.answer.body, ("details", "kind"), ""))


# -- Which answer it is ------------------------------------------------------


def says(pattern: str) -> Callable[[Case], bool]:
    found = re.compile(pattern)
    return lambda case: bool(found.search(case.said))


def coded(*codes: int) -> Callable[[Case], bool]:
    """One of these codes; 4 stands for all from 400 to 499."""

    def fits(case: Case) -> bool:
        code = case.answer.code
        return code in codes or code // 100 in codes

    return fits


def caused(code: int, key: str, value: str) -> Callable[[Case], bool]:
    def fits(case: Case) -> bool:
        return case.answer.code == code and any(
            cause.get(key) == value for cause in case.causes
        )

    return fits


def terminating(case: Case) -> bool:
    return caused(403, "reason", "NamespaceTerminating")(case) or bool(
        re.search("because it is being terminated", case.said)
    )


def unauthorized(case: Case) -> bool:
    """By the authorizer, and not by admission, which sees objects only."""
    return case.answer.code == 403 and bool(
        case.request.ref is None or _AUTHORIZER.search(case.said)
    )


def place_missing(case: Case) -> bool:
    return (
        case.answer.code == 404
        and case.writes
        and case.missing == "namespaces"
        and case.subject.kind != "Namespace"
    )


def role_missing(case: Case) -> bool:
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


def unserved(case: Case) -> bool:
    """There is no such path: the kind is not served yet, or no more."""
    if case.answer.code != 404:
        return False
    if case.writes:
        return not field(case.answer.body, ("details", "name"))
    return not case.missing


def met(case: Case) -> bool:
    """Two writers met, and neither named a version."""
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
