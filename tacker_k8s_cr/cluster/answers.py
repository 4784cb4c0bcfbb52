"""What an API server's answer means: pure.

Three outcomes beside success: an error that will not mend by trying the
same again, ``NotYet`` for what something else must bring first, and
``Again`` for what the server will answer otherwise in a moment.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import http.client
import re
from typing import Any

from tacker_k8s_cr.cluster import masking
from tacker_k8s_cr.errors import ClusterError
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


@dataclasses.dataclass(frozen=True)
class Request:
    """One request, as a value.

    :param verb: as Kubernetes' authorization names it.
    :param resource: plural, group and sub-resource, for sentences.
    :param ref: the object that it is about; None for lists and the like.
    :param path: below the server's URL, with the query.
    """

    verb: str
    method: str
    path: str
    resource: str
    namespace: str = ""
    ref: ObjectRef | None = None
    body: bytes | None = dataclasses.field(default=None, repr=False)
    content_type: str = ""
    accept: str = "application/json"

    def __str__(self) -> str:
        return f"{self.verb} {self.ref or self.resource}"


@dataclasses.dataclass(frozen=True)
class Answer:
    """What the server said.

    :param repeated: an earlier attempt may have been carried out.
    """

    code: int
    body: Mapping[str, Any]
    retry_after: float = 0.0
    repeated: bool = False


class Again(Exception):
    """The same request may succeed in a moment.

    :param why: what it means when it does not.
    :param after: seconds that the server asks us to wait.
    :param patience: seconds after which to give up.
    :param carried_out: the server may have done what was asked.
    """

    def __init__(
        self,
        why: Error,
        after: float = 0.0,
        patience: float = 120.0,
        carried_out: bool = False,
    ):
        self.why = why
        self.after = after
        self.patience = patience
        self.carried_out = carried_out
        super().__init__(str(why))


class Expired(ClusterError):
    """A resourceVersion is too old (410): list again."""


class Absent(ClusterError):
    """There is nothing at the path (404)."""


class Unserved(Absent):
    """There is not even such a path: the kind is not served there."""


class NotServed(NotYet):
    """The same, where something was to be written."""


@dataclasses.dataclass(frozen=True)
class _Case:
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

    def rejected(self) -> Error:
        reason = self.reason or http.client.responses.get(
            self.answer.code, "Error"
        )
        return Rejected(self.subject, self.answer.code, reason, self.message)

    def not_yet(self) -> Error:
        return NotYet(self.subject, self.message)

    def outdated(self) -> Error:
        return Outdated(self.subject, self.message)

    def again(self, patience: float, carried_out: bool = False) -> Again:
        code = self.answer.code
        why = Unavailable(str(self.request), code, self.message)
        after = self.answer.retry_after
        return Again(why, after, patience, carried_out)


def judged(request: Request, answer: Answer, server: str) -> Error | Again:
    """What an answer of 400 and above means for a request."""
    case = _Case(request, answer, server)
    for means, says in _SAYS:
        if says.search(case.said):
            return means(case)
    code = answer.code if answer.code in _CODES else answer.code // 100
    return _CODES[code](case)


def _unauthenticated(case: _Case) -> Error:
    said = case.message if case.message != "Unauthorized" else ""
    return Unauthenticated(case.server, said)


def _forbidden(case: _Case) -> Error:
    if any(
        cause.get("reason") == "NamespaceTerminating" for cause in case.causes
    ):
        return case.not_yet()
    if _AUTHORIZER.search(case.said) or case.request.ref is None:
        request = case.request
        return Forbidden(
            request.verb, request.resource, request.namespace, case.message
        )
    return case.rejected()


def _not_found(case: _Case) -> Error:
    request = case.request
    missing = field(case.answer.body, ("details", "kind"), "")
    if request.verb in ("patch", "create", "update"):
        # An apply creates what is not there: what lacks is the namespace,
        # or the kind, whose path is served some time after it is defined.
        if missing == "namespaces" and case.subject.kind != "Namespace":
            return case.not_yet()
        if not field(case.answer.body, ("details", "name")):
            why = "the server does not serve its kind"
            return NotServed(case.subject, why)
        return case.outdated()
    if not missing:
        return Unserved(f"{request}: its kind is not served")
    return Absent(f"{request}: not there")


def _conflict(case: _Case) -> Error | Again:
    owned = {
        str(cause.get("field", "")).removeprefix("."): _manager(cause)
        for cause in case.causes
        if cause.get("reason") == "FieldManagerConflict"
    }
    if owned:
        return Conflict(case.subject, owned)
    versionless = (
        case.request.content_type == APPLY or case.request.verb == "delete"
    )
    if versionless and not _ABOUT_UID.search(case.said):
        # Two writers met, and neither named a version.
        return case.again(patience=10.0)
    return case.outdated()


def _manager(cause: Mapping[str, Any]) -> str:
    found = _MANAGER.search(str(cause.get("message", "")))
    return found.group(1) if found else "another manager"


def _invalid(case: _Case) -> Error:
    if any(cause.get("field") == "metadata.uid" for cause in case.causes):
        return case.outdated()
    return case.rejected()


def _away(case: _Case) -> Error | Again:
    """A webhook that is not reached; an apply is for its caller to repeat."""
    request = case.request
    if request.verb in _WRITES and request.content_type != APPLY:
        after = case.answer.retry_after
        return Again(case.not_yet(), after, patience=120.0)
    return case.not_yet()


def _broken(case: _Case) -> Error | Again:
    return case.again(patience=10.0, carried_out=True)


def _busy(case: _Case) -> Again:
    return case.again(patience=120.0)


def _timed_out(case: _Case) -> Again:
    return case.again(patience=120.0, carried_out=True)


def _expired(case: _Case) -> Error:
    return Expired(f"{case.request}: {case.message}")


APPLY = "application/apply-patch+yaml"

_WRITES = frozenset(["create", "update", "patch", "delete"])
_AUTHORIZER = re.compile(r'[Uu]ser "[^"]*" cannot \S+ (resource|path) ')
_MANAGER = re.compile(r'conflicts? with "([^"]+)"')
_ABOUT_UID = re.compile(r"\buid\b|\bUID\b")

_Means = Callable[[_Case], "Error | Again"]

# What the server says comes before its code: a webhook that cannot be
# reached and one that says no may both be a 500. A denial is never tried
# again.
_SAYS: tuple[tuple[_Means, re.Pattern[str]], ...] = (
    (_Case.not_yet, re.compile(r"does not support dry run")),
    (_Case.rejected, re.compile(r"admission webhook .* denied the request")),
    (_Case.rejected, re.compile(r"ValidatingAdmissionPolicy .* denied")),
    (_away, re.compile(r"failed calling webhook ")),
    (_away, re.compile(r"conversion webhook for .* failed")),
    (_Case.not_yet, re.compile(r"because it is being terminated")),
    # The account "default" follows its namespace after a moment.
    (_Case.not_yet, re.compile(r"error looking up service account")),
    # What an apply answers, with code 500, when a manifest does not fit.
    (_Case.rejected, re.compile(r"failed to create typed patch object")),
    (_Case.rejected, re.compile(r"failed to convert new object")),
)

_CODES: Mapping[int, _Means] = {
    401: _unauthenticated,
    403: _forbidden,
    404: _not_found,
    409: _conflict,
    410: _expired,
    422: _invalid,
    429: _busy,
    4: _Case.rejected,
    500: _broken,
    502: _timed_out,
    503: _busy,
    504: _timed_out,
    5: _broken,
    # A redirect is not followed: credentials would go with it.
    3: _Case.rejected,
}
