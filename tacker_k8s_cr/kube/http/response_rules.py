"""What becomes of a request, by the answer: one table, and pure.

Its first row that fits decides. What the server says comes before its code:
a webhook that cannot be reached and one that says no may both be a 500. A
denial is never tried again.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import enum

from tacker_k8s_cr.kube.http import error_mapping
from tacker_k8s_cr.kube.http import response_matchers
from tacker_k8s_cr.kube.http import webhook_calls
from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.http_model import Response
from tacker_k8s_cr.kube.http.http_model import Retryable
from tacker_k8s_cr.kube.http.response_matchers import Exchange
from tacker_k8s_cr.model.errors import Error


class RetryPolicy(enum.Enum):
    """What becomes of a request, in the words of the documentation."""

    FINAL = "final"
    NOT_YET = "tried again while other objects come"
    STALLS = "retried until the stall timeout"
    MOVES = "retried only while other objects are in progress"
    AGAIN = "sent again"
    REREAD = "read again, then decided"


@dataclasses.dataclass(frozen=True)
class ResponseRule:
    """An answer that a server may give, and what becomes of the request.

    :param name: of the row, unique.
    :param when: which answer it is.
    :param why: the reason for the outcome.
    :param fits: whether it is that answer.
    :param means: what it means for the request.
    """

    name: str
    when: str
    outcome: RetryPolicy
    why: str
    fits: Callable[[Exchange], bool]
    means: Callable[[Exchange], Error | Retryable]


def error_for(
    request: Request, answer: Response, server: str
) -> Error | Retryable:
    """What an answer of 300 and above means for a request."""
    case = Exchange(request, answer, server)
    return matching_rule(case).means(case)


def matching_rule(case: Exchange) -> ResponseRule:
    """The row that decides."""
    return next(row for row in ROWS if row.fits(case))


ROWS: tuple[ResponseRule, ...] = (
    ResponseRule(
        "no dry run",
        "A webhook does not support a dry run",
        RetryPolicy.NOT_YET,
        "Nothing is known of the object; the apply itself will tell.",
        response_matchers.message_matches("does not support dry run"),
        Exchange.not_yet,
    ),
    ResponseRule(
        "denied by a webhook",
        "An admission webhook denied the request",
        RetryPolicy.FINAL,
        "It has looked at the object and said no.",
        response_matchers.message_matches(
            "admission webhook .* denied the request"
        ),
        error_mapping.denied,
    ),
    ResponseRule(
        "denied by a policy",
        "A ValidatingAdmissionPolicy denied the request",
        RetryPolicy.FINAL,
        "It has looked at the object and said no.",
        response_matchers.message_matches(
            "ValidatingAdmissionPolicy .* denied"
        ),
        error_mapping.denied,
    ),
    ResponseRule(
        "webhook of another name",
        "The certificate of an admission or conversion webhook is for "
        "another name",
        RetryPolicy.MOVES,
        "Only another certificate helps. An object that is in progress may "
        "provide one, until the stall timeout. Requests other than an apply "
        "fail immediately.",
        response_matchers.message_matches(
            webhook_calls.OF_ANY + webhook_calls.OTHER_NAME
        ),
        error_mapping.webhook_unreachable,
    ),
    ResponseRule(
        "webhook not trusted",
        "The certificate of an admission or conversion webhook is not "
        "trusted or has expired, it does not speak TLS, or it has no such "
        "path",
        RetryPolicy.STALLS,
        "An operator such as cert-manager may still inject the ``caBundle`` "
        "or renew the certificate. Requests other than an apply are sent "
        "again for 120 seconds.",
        response_matchers.message_matches(
            webhook_calls.OF_ANY + webhook_calls.NOT_TRUSTED
        ),
        error_mapping.webhook_unreachable,
    ),
    ResponseRule(
        "webhook away",
        "An admission webhook does not answer",
        RetryPolicy.NOT_YET,
        "Its Deployment or its Service may not be available yet. "
        "Requests other than an apply are sent again for 120 seconds.",
        response_matchers.message_matches("failed calling webhook "),
        error_mapping.webhook_unreachable,
    ),
    ResponseRule(
        "conversion webhook away",
        "The webhook that converts objects of the kind does not answer",
        RetryPolicy.NOT_YET,
        "As above.",
        response_matchers.message_matches("conversion webhook for .* failed"),
        error_mapping.webhook_unreachable,
    ),
    ResponseRule(
        "namespace terminating",
        "The namespace of the object is being terminated",
        RetryPolicy.NOT_YET,
        "It may be made again when it is gone.",
        response_matchers.terminating,
        Exchange.not_yet,
    ),
    ResponseRule(
        "account on its way",
        "The service account of a Pod is not there",
        RetryPolicy.NOT_YET,
        "The account ``default`` follows its namespace after a moment.",
        response_matchers.message_matches("error looking up service account"),
        Exchange.not_yet,
    ),
    ResponseRule(
        "class on its way",
        "The PriorityClass or RuntimeClass of a Pod is not there",
        RetryPolicy.NOT_YET,
        "Admission sees a new one after a moment. One that the package does "
        "not bring is refused before the first write.",
        response_matchers.message_matches(
            "no PriorityClass with name|RuntimeClass .* not found"
        ),
        error_mapping.dependency_missing,
    ),
    ResponseRule(
        "quota not counted",
        "A ResourceQuota of the namespace has no status yet",
        RetryPolicy.NOT_YET,
        "Its controller counts a new quota after a moment.",
        response_matchers.message_matches("status unknown for quota"),
        Exchange.not_yet,
    ),
    ResponseRule(
        "does not fit",
        "The manifest does not fit its kind's schema (with code 500)",
        RetryPolicy.FINAL,
        "The same manifest will never fit.",
        response_matchers.message_matches(
            "failed to create typed patch object|failed to convert new object"
        ),
        error_mapping.misfit,
    ),
    ResponseRule(
        "unauthenticated",
        "401: the credential is not accepted",
        RetryPolicy.FINAL,
        "It was read anew from where it comes from, once, before that.",
        response_matchers.status_in(401),
        error_mapping.unauthenticated,
    ),
    ResponseRule(
        "unauthorized",
        "403 of the authorizer",
        RetryPolicy.FINAL,
        "The user lacks a right; waiting gives none.",
        response_matchers.unauthorized,
        error_mapping.forbidden,
    ),
    ResponseRule(
        "denied by admission",
        "403 of admission: a quota that is used up, Pod security",
        RetryPolicy.FINAL,
        "The server has looked at the object and said no.",
        response_matchers.status_in(403),
        error_mapping.denied,
    ),
    ResponseRule(
        "namespace missing",
        "404 on a write: the namespace is not there",
        RetryPolicy.NOT_YET,
        "The package brings it: others were refused before the first write.",
        response_matchers.place_missing,
        Exchange.not_yet,
    ),
    ResponseRule(
        "role missing",
        "404 on the apply of a RoleBinding or ClusterRoleBinding: the server "
        "did not find the role",
        RetryPolicy.NOT_YET,
        "A role of the package is applied before its bindings. A binding to "
        "a role that the package does not contain is refused.",
        response_matchers.role_missing,
        error_mapping.unbound,
    ),
    ResponseRule(
        "kind not served",
        "404 without an object: there is no such path",
        RetryPolicy.NOT_YET,
        "A kind is served some time after its definition is there. "
        "Discovery is asked again first. What is read is absent.",
        response_matchers.unserved,
        error_mapping.not_served,
    ),
    ResponseRule(
        "object gone",
        "404: the object is not there",
        RetryPolicy.REREAD,
        "What is read is absent; a write that was meant for it is not sent "
        "again.",
        response_matchers.status_in(404),
        error_mapping.absent,
    ),
    ResponseRule(
        "field of others",
        "409: fields are owned by other managers",
        RetryPolicy.FINAL,
        "Unless ``field_conflicts`` says ``force`` or ``ignore``.",
        response_matchers.has_cause(409, "reason", "FieldManagerConflict"),
        error_mapping.conflict,
    ),
    ResponseRule(
        "writers that met",
        "409 for an apply or a delete that names no version",
        RetryPolicy.AGAIN,
        "Two writers met, or two created the object; for 10 seconds.",
        response_matchers.concurrent_writers,
        lambda case: case.again(error_mapping.WHILE_BROKEN),
    ),
    ResponseRule(
        "another version",
        "409: the object is another, or has changed",
        RetryPolicy.REREAD,
        "What was decided was decided on something else.",
        response_matchers.status_in(409),
        Exchange.outdated,
    ),
    ResponseRule(
        "too old",
        "410: the resource version is too old",
        RetryPolicy.REREAD,
        "The list or watch begins anew.",
        response_matchers.status_in(410),
        error_mapping.expired,
    ),
    ResponseRule(
        "another object",
        "422 on ``metadata.uid``: another object has the name",
        RetryPolicy.REREAD,
        "The one that was meant is gone.",
        response_matchers.has_cause(422, "field", "metadata.uid"),
        Exchange.outdated,
    ),
    ResponseRule(
        "busy",
        "429, 503: too many requests, or the server is starting",
        RetryPolicy.AGAIN,
        "After as long as ``Retry-After`` says, for 120 seconds.",
        response_matchers.status_in(429, 503),
        error_mapping.busy,
    ),
    ResponseRule(
        "timed out",
        "502, 504: a proxy or the server gave up waiting",
        RetryPolicy.AGAIN,
        "For 120 seconds. The write may have been carried out: the answer "
        "to the next one is read with that in mind.",
        response_matchers.status_in(502, 504),
        error_mapping.timed_out,
    ),
    ResponseRule(
        "fault",
        "500 and other codes from 500 on",
        RetryPolicy.AGAIN,
        "For 10 seconds: etcd has no leader, or a fault that stays. The "
        "write may have been carried out.",
        response_matchers.status_in(5),
        error_mapping.server_error,
    ),
    ResponseRule(
        "refused",
        "400, 405, 413, 415, 422 and other codes from 400 on",
        RetryPolicy.FINAL,
        "The object is invalid; the server's own words say why.",
        response_matchers.status_in(4),
        Exchange.rejected,
    ),
    ResponseRule(
        "elsewhere",
        "300 to 399: the answer is said to be elsewhere",
        RetryPolicy.FINAL,
        "A redirect is not followed: credentials would go with it.",
        lambda case: True,
        Exchange.rejected,
    ),
)
