"""What each answer of an API server means: one table, and pure.

Its first row that fits decides. What the server says comes before its code:
a webhook that cannot be reached and one that says no may both be a 500. A
denial is never tried again.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import enum
import http.client
import re
from typing import Any

from tacker_k8s_cr.cluster import masking
from tacker_k8s_cr.cluster.answers import APPLY
from tacker_k8s_cr.cluster.answers import Absent
from tacker_k8s_cr.cluster.answers import Again
from tacker_k8s_cr.cluster.answers import Answer
from tacker_k8s_cr.cluster.answers import Expired
from tacker_k8s_cr.cluster.answers import NotServed
from tacker_k8s_cr.cluster.answers import Request
from tacker_k8s_cr.cluster.answers import Unserved
from tacker_k8s_cr.errors import Conflict
from tacker_k8s_cr.errors import Error
from tacker_k8s_cr.errors import Forbidden
from tacker_k8s_cr.errors import NotYet
from tacker_k8s_cr.errors import Outdated
from tacker_k8s_cr.errors import Rejected
from tacker_k8s_cr.errors import Unauthenticated
from tacker_k8s_cr.errors import Unavailable
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import field

WHILE_AWAY = 120.0
"""Seconds for which a request is sent again to a server that is busy."""

WHILE_BROKEN = 10.0
"""Seconds for what looks like a fault, or like two writers that met."""


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

    def rejected(self, *, denied: bool = False) -> Error:
        reason = self.reason or http.client.responses.get(
            self.answer.code, "Error"
        )
        return Rejected(
            self.subject, self.answer.code, reason, self.message, denied
        )

    def not_yet(self, **more: Any) -> NotYet:
        return NotYet(self.subject, self.message, **more)

    def outdated(self) -> Error:
        return Outdated(self.subject, self.message)

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


class Outcome(enum.Enum):
    """What becomes of a request, in the words of the documentation."""

    FINAL = "final"
    NOT_YET = "tried again while other objects come"
    AGAIN = "sent again"
    ANEW = "read again, then decided"


@dataclasses.dataclass(frozen=True)
class Row:
    """An answer that a server may give, and what becomes of the request.

    :param name: of the row, unique.
    :param when: which answer it is.
    :param why: the reason for the outcome.
    :param fits: whether it is that answer.
    :param means: what it means for the request.
    """

    name: str
    when: str
    outcome: Outcome
    why: str
    fits: Callable[[Case], bool]
    means: Callable[[Case], Error | Again]


def judged(request: Request, answer: Answer, server: str) -> Error | Again:
    """What an answer of 300 and above means for a request."""
    case = Case(request, answer, server)
    return row(case).means(case)


def row(case: Case) -> Row:
    """The row that decides."""
    return next(row for row in ROWS if row.fits(case))


# -- Which answer it is ------------------------------------------------------


def _says(pattern: str) -> Callable[[Case], bool]:
    found = re.compile(pattern)
    return lambda case: bool(found.search(case.said))


def _is(*codes: int) -> Callable[[Case], bool]:
    """One of these codes; 4 stands for all from 400 to 499."""

    def fits(case: Case) -> bool:
        code = case.answer.code
        return code in codes or code // 100 in codes

    return fits


def _caused(code: int, key: str, value: str) -> Callable[[Case], bool]:
    def fits(case: Case) -> bool:
        return case.answer.code == code and any(
            cause.get(key) == value for cause in case.causes
        )

    return fits


def _terminating(case: Case) -> bool:
    return _caused(403, "reason", "NamespaceTerminating")(case) or bool(
        re.search("because it is being terminated", case.said)
    )


def _unauthorized(case: Case) -> bool:
    """By the authorizer, and not by admission, which sees objects only."""
    return case.answer.code == 403 and bool(
        case.request.ref is None or _AUTHORIZER.search(case.said)
    )


def _place_missing(case: Case) -> bool:
    return (
        case.answer.code == 404
        and case.writes
        and case.missing == "namespaces"
        and case.subject.kind != "Namespace"
    )


def _unserved(case: Case) -> bool:
    """There is no such path: the kind is served some time after it is
    defined, or no more."""
    if case.answer.code != 404:
        return False
    if case.writes:
        return not field(case.answer.body, ("details", "name"))
    return not case.missing


def _met(case: Case) -> bool:
    """Two writers met, and neither named a version."""
    return (
        case.answer.code == 409
        and (
            case.request.content_type == APPLY or case.request.verb == "delete"
        )
        and not _ABOUT_UID.search(case.said)
    )


_AUTHORIZER = re.compile(r'[Uu]ser "[^"]*" cannot \S+ (resource|path) ')
_MANAGER = re.compile(r'conflicts? with "([^"]+)"')
_ABOUT_UID = re.compile(r"\buid\b|\bUID\b")


# -- What it means -----------------------------------------------------------


def _unauthenticated(case: Case) -> Error:
    said = case.message if case.message != "Unauthorized" else ""
    return Unauthenticated(case.server, said)


def _forbidden(case: Case) -> Error:
    request = case.request
    return Forbidden(
        request.verb, request.resource, request.namespace, case.message
    )


def _not_served(case: Case) -> Error:
    if case.writes:
        why = "the server does not serve its kind"
        return NotServed(case.subject, why)
    return Unserved(f"{case.request}: its kind is not served")


def _absent(case: Case) -> Error:
    if case.writes:
        return case.outdated()
    return Absent(f"{case.request}: not there")


def _conflict(case: Case) -> Error:
    owned = {
        str(cause.get("field", "")).removeprefix("."): _manager(cause)
        for cause in case.causes
        if cause.get("reason") == "FieldManagerConflict"
    }
    return Conflict(case.subject, owned)


def _manager(cause: Mapping[str, Any]) -> str:
    found = _MANAGER.search(str(cause.get("message", "")))
    return found.group(1) if found else "another manager"


def _away(case: Case) -> Error | Again:
    """A webhook that is not reached; an apply is for its caller to repeat."""
    hook = _HOOK.search(case.said)
    error = case.not_yet(
        hook=f"{hook[1] or ''}{hook[2] or ''}" if hook else ""
    )
    request = case.request
    writes = case.writes or request.verb == "delete"
    if writes and request.content_type != APPLY:
        after = case.answer.retry_after
        return Again(error, after, WHILE_AWAY)
    return error


_HOOK = re.compile(
    r'failed calling webhook "([^"]+)"|(conversion webhook for [^"]*?) failed'
)


def _lacking(case: Case) -> Error:
    """What a package may bring, and the server has not seen."""
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


def _denied(case: Case) -> Error:
    return case.rejected(denied=True)


def _expired(case: Case) -> Error:
    return Expired(f"{case.request}: {case.message}")


def _broken(case: Case) -> Again:
    return case.again(WHILE_BROKEN, carried_out=True)


def _busy(case: Case) -> Again:
    return case.again(WHILE_AWAY)


def _timed_out(case: Case) -> Again:
    return case.again(WHILE_AWAY, carried_out=True)


# -- The table ---------------------------------------------------------------

ROWS: tuple[Row, ...] = (
    Row(
        "no dry run",
        "A webhook does not support a dry run",
        Outcome.NOT_YET,
        "Nothing is known of the object; the apply itself will tell.",
        _says("does not support dry run"),
        Case.not_yet,
    ),
    Row(
        "denied by a webhook",
        "An admission webhook denied the request",
        Outcome.FINAL,
        "It has looked at the object and said no.",
        _says("admission webhook .* denied the request"),
        _denied,
    ),
    Row(
        "denied by a policy",
        "A ValidatingAdmissionPolicy denied the request",
        Outcome.FINAL,
        "It has looked at the object and said no.",
        _says("ValidatingAdmissionPolicy .* denied"),
        _denied,
    ),
    Row(
        "webhook away",
        "An admission webhook does not answer, or is not trusted yet",
        Outcome.NOT_YET,
        "Its Deployment, its Service or its certificate is on its way. "
        "Other writes than an apply are sent again for 120 seconds.",
        _says("failed calling webhook "),
        _away,
    ),
    Row(
        "conversion webhook away",
        "The webhook that converts objects of the kind does not answer",
        Outcome.NOT_YET,
        "As above.",
        _says("conversion webhook for .* failed"),
        _away,
    ),
    Row(
        "namespace terminating",
        "The namespace of the object is being terminated",
        Outcome.NOT_YET,
        "It may be made again when it is gone.",
        _terminating,
        Case.not_yet,
    ),
    Row(
        "account on its way",
        "The service account of a Pod is not there",
        Outcome.NOT_YET,
        "The account ``default`` follows its namespace after a moment.",
        _says("error looking up service account"),
        Case.not_yet,
    ),
    Row(
        "class on its way",
        "The PriorityClass or RuntimeClass of a Pod is not there",
        Outcome.NOT_YET,
        "Admission sees a new one after a moment. One that the package does "
        "not bring is refused before the first write.",
        _says("no PriorityClass with name|RuntimeClass .* not found"),
        _lacking,
    ),
    Row(
        "quota not counted",
        "A ResourceQuota of the namespace has no status yet",
        Outcome.NOT_YET,
        "Its controller counts a new quota after a moment.",
        _says("status unknown for quota"),
        Case.not_yet,
    ),
    Row(
        "does not fit",
        "The manifest does not fit its kind's schema (with code 500)",
        Outcome.FINAL,
        "The same manifest will never fit.",
        _says(
            "failed to create typed patch object|failed to convert new object"
        ),
        Case.rejected,
    ),
    Row(
        "unauthenticated",
        "401: the credential is not accepted",
        Outcome.FINAL,
        "It was read anew from where it comes from, once, before that.",
        _is(401),
        _unauthenticated,
    ),
    Row(
        "unauthorized",
        "403 of the authorizer",
        Outcome.FINAL,
        "The user lacks a right; waiting gives none.",
        _unauthorized,
        _forbidden,
    ),
    Row(
        "denied by admission",
        "403 of admission: a quota that is used up, Pod security",
        Outcome.FINAL,
        "The server has looked at the object and said no.",
        _is(403),
        _denied,
    ),
    Row(
        "namespace missing",
        "404 on a write: the namespace is not there",
        Outcome.NOT_YET,
        "The package brings it: others were refused before the first write.",
        _place_missing,
        Case.not_yet,
    ),
    Row(
        "kind not served",
        "404 without an object: there is no such path",
        Outcome.NOT_YET,
        "A kind is served some time after its definition is there. "
        "Discovery is asked again first. What is read is absent.",
        _unserved,
        _not_served,
    ),
    Row(
        "object gone",
        "404: the object is not there",
        Outcome.ANEW,
        "What is read is absent; a write that was meant for it is not sent "
        "again.",
        _is(404),
        _absent,
    ),
    Row(
        "field of others",
        "409: fields are owned by other managers",
        Outcome.FINAL,
        "Unless ``conflict`` says ``take`` or ``leave``.",
        _caused(409, "reason", "FieldManagerConflict"),
        _conflict,
    ),
    Row(
        "writers that met",
        "409 for an apply or a delete that names no version",
        Outcome.AGAIN,
        "Two writers met, or two created the object; for 10 seconds.",
        _met,
        lambda case: case.again(WHILE_BROKEN),
    ),
    Row(
        "another version",
        "409: the object is another, or has changed",
        Outcome.ANEW,
        "What was decided was decided on something else.",
        _is(409),
        Case.outdated,
    ),
    Row(
        "too old",
        "410: the resource version is too old",
        Outcome.ANEW,
        "The list or watch begins anew.",
        _is(410),
        _expired,
    ),
    Row(
        "another object",
        "422 on ``metadata.uid``: another object has the name",
        Outcome.ANEW,
        "The one that was meant is gone.",
        _caused(422, "field", "metadata.uid"),
        Case.outdated,
    ),
    Row(
        "busy",
        "429, 503: too many requests, or the server is starting",
        Outcome.AGAIN,
        "After as long as ``Retry-After`` says, for 120 seconds.",
        _is(429, 503),
        _busy,
    ),
    Row(
        "timed out",
        "502, 504: a proxy or the server gave up waiting",
        Outcome.AGAIN,
        "For 120 seconds. The write may have been carried out: the answer "
        "to the next one is read with that in mind.",
        _is(502, 504),
        _timed_out,
    ),
    Row(
        "fault",
        "500 and other codes from 500 on",
        Outcome.AGAIN,
        "For 10 seconds: etcd has no leader, or a fault that stays. The "
        "write may have been carried out.",
        _is(5),
        _broken,
    ),
    Row(
        "refused",
        "400, 405, 413, 415, 422 and other codes from 400 on",
        Outcome.FINAL,
        "The object is invalid; the server's own words say why.",
        _is(4),
        Case.rejected,
    ),
    Row(
        "elsewhere",
        "300 to 399: the answer is said to be elsewhere",
        Outcome.FINAL,
        "A redirect is not followed: credentials would go with it.",
        lambda case: True,
        Case.rejected,
    ),
)
