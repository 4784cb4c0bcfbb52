"""What becomes of a request, by the answer: one table, and pure.

Its first row that fits decides. What the server says comes before its code:
a webhook that cannot be reached and one that says no may both be a 500. A
denial is never tried again.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import enum

from tacker_k8s_cr.cluster import cases
from tacker_k8s_cr.cluster import meanings
from tacker_k8s_cr.cluster import webhook_calls
from tacker_k8s_cr.cluster.answers import Again
from tacker_k8s_cr.cluster.answers import Answer
from tacker_k8s_cr.cluster.answers import Request
from tacker_k8s_cr.cluster.cases import Case
from tacker_k8s_cr.errors import Error


class Outcome(enum.Enum):
    """What becomes of a request, in the words of the documentation."""

    FINAL = "final"
    NOT_YET = "tried again while other objects come"
    STALLS = "retried until the stall timeout"
    MOVES = "retried only while other objects are in progress"
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


ROWS: tuple[Row, ...] = (
    Row(
        "no dry run",
        "A webhook does not support a dry run",
        Outcome.NOT_YET,
        "Nothing is known of the object; the apply itself will tell.",
        cases.says("does not support dry run"),
        Case.not_yet,
    ),
    Row(
        "denied by a webhook",
        "An admission webhook denied the request",
        Outcome.FINAL,
        "It has looked at the object and said no.",
        cases.says("admission webhook .* denied the request"),
        meanings.denied,
    ),
    Row(
        "denied by a policy",
        "A ValidatingAdmissionPolicy denied the request",
        Outcome.FINAL,
        "It has looked at the object and said no.",
        cases.says("ValidatingAdmissionPolicy .* denied"),
        meanings.denied,
    ),
    Row(
        "webhook of another name",
        "The certificate of an admission or conversion webhook is for "
        "another name",
        Outcome.MOVES,
        "Only another certificate helps. An object that is in progress may "
        "provide one, until the stall timeout. Requests other than an apply "
        "fail immediately.",
        cases.says(webhook_calls.OF_ANY + webhook_calls.OTHER_NAME),
        meanings.away,
    ),
    Row(
        "webhook not trusted",
        "The certificate of an admission or conversion webhook is not "
        "trusted or has expired, it does not speak TLS, or it has no such "
        "path",
        Outcome.STALLS,
        "An operator such as cert-manager may still inject the ``caBundle`` "
        "or renew the certificate. Requests other than an apply are sent "
        "again for 120 seconds.",
        cases.says(webhook_calls.OF_ANY + webhook_calls.NOT_TRUSTED),
        meanings.away,
    ),
    Row(
        "webhook away",
        "An admission webhook does not answer",
        Outcome.NOT_YET,
        "Its Deployment or its Service may not be available yet. "
        "Requests other than an apply are sent again for 120 seconds.",
        cases.says("failed calling webhook "),
        meanings.away,
    ),
    Row(
        "conversion webhook away",
        "The webhook that converts objects of the kind does not answer",
        Outcome.NOT_YET,
        "As above.",
        cases.says("conversion webhook for .* failed"),
        meanings.away,
    ),
    Row(
        "namespace terminating",
        "The namespace of the object is being terminated",
        Outcome.NOT_YET,
        "It may be made again when it is gone.",
        cases.terminating,
        Case.not_yet,
    ),
    Row(
        "account on its way",
        "The service account of a Pod is not there",
        Outcome.NOT_YET,
        "The account ``default`` follows its namespace after a moment.",
        cases.says("error looking up service account"),
        Case.not_yet,
    ),
    Row(
        "class on its way",
        "The PriorityClass or RuntimeClass of a Pod is not there",
        Outcome.NOT_YET,
        "Admission sees a new one after a moment. One that the package does "
        "not bring is refused before the first write.",
        cases.says("no PriorityClass with name|RuntimeClass .* not found"),
        meanings.lacking,
    ),
    Row(
        "quota not counted",
        "A ResourceQuota of the namespace has no status yet",
        Outcome.NOT_YET,
        "Its controller counts a new quota after a moment.",
        cases.says("status unknown for quota"),
        Case.not_yet,
    ),
    Row(
        "does not fit",
        "The manifest does not fit its kind's schema (with code 500)",
        Outcome.FINAL,
        "The same manifest will never fit.",
        cases.says(
            "failed to create typed patch object|failed to convert new object"
        ),
        meanings.misfit,
    ),
    Row(
        "unauthenticated",
        "401: the credential is not accepted",
        Outcome.FINAL,
        "It was read anew from where it comes from, once, before that.",
        cases.coded(401),
        meanings.unauthenticated,
    ),
    Row(
        "unauthorized",
        "403 of the authorizer",
        Outcome.FINAL,
        "The user lacks a right; waiting gives none.",
        cases.unauthorized,
        meanings.forbidden,
    ),
    Row(
        "denied by admission",
        "403 of admission: a quota that is used up, Pod security",
        Outcome.FINAL,
        "The server has looked at the object and said no.",
        cases.coded(403),
        meanings.denied,
    ),
    Row(
        "namespace missing",
        "404 on a write: the namespace is not there",
        Outcome.NOT_YET,
        "The package brings it: others were refused before the first write.",
        cases.place_missing,
        Case.not_yet,
    ),
    Row(
        "role missing",
        "404 on the apply of a RoleBinding or ClusterRoleBinding: the server "
        "did not find the role",
        Outcome.NOT_YET,
        "A role of the package is applied before its bindings. A binding to "
        "a role that the package does not contain is refused.",
        cases.role_missing,
        meanings.unbound,
    ),
    Row(
        "kind not served",
        "404 without an object: there is no such path",
        Outcome.NOT_YET,
        "A kind is served some time after its definition is there. "
        "Discovery is asked again first. What is read is absent.",
        cases.unserved,
        meanings.not_served,
    ),
    Row(
        "object gone",
        "404: the object is not there",
        Outcome.ANEW,
        "What is read is absent; a write that was meant for it is not sent "
        "again.",
        cases.coded(404),
        meanings.absent,
    ),
    Row(
        "field of others",
        "409: fields are owned by other managers",
        Outcome.FINAL,
        "Unless ``conflict`` says ``take`` or ``leave``.",
        cases.caused(409, "reason", "FieldManagerConflict"),
        meanings.conflict,
    ),
    Row(
        "writers that met",
        "409 for an apply or a delete that names no version",
        Outcome.AGAIN,
        "Two writers met, or two created the object; for 10 seconds.",
        cases.met,
        lambda case: case.again(meanings.WHILE_BROKEN),
    ),
    Row(
        "another version",
        "409: the object is another, or has changed",
        Outcome.ANEW,
        "What was decided was decided on something else.",
        cases.coded(409),
        Case.outdated,
    ),
    Row(
        "too old",
        "410: the resource version is too old",
        Outcome.ANEW,
        "The list or watch begins anew.",
        cases.coded(410),
        meanings.expired,
    ),
    Row(
        "another object",
        "422 on ``metadata.uid``: another object has the name",
        Outcome.ANEW,
        "The one that was meant is gone.",
        cases.caused(422, "field", "metadata.uid"),
        Case.outdated,
    ),
    Row(
        "busy",
        "429, 503: too many requests, or the server is starting",
        Outcome.AGAIN,
        "After as long as ``Retry-After`` says, for 120 seconds.",
        cases.coded(429, 503),
        meanings.busy,
    ),
    Row(
        "timed out",
        "502, 504: a proxy or the server gave up waiting",
        Outcome.AGAIN,
        "For 120 seconds. The write may have been carried out: the answer "
        "to the next one is read with that in mind.",
        cases.coded(502, 504),
        meanings.timed_out,
    ),
    Row(
        "fault",
        "500 and other codes from 500 on",
        Outcome.AGAIN,
        "For 10 seconds: etcd has no leader, or a fault that stays. The "
        "write may have been carried out.",
        cases.coded(5),
        meanings.broken,
    ),
    Row(
        "refused",
        "400, 405, 413, 415, 422 and other codes from 400 on",
        Outcome.FINAL,
        "The object is invalid; the server's own words say why.",
        cases.coded(4),
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
