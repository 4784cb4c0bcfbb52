"""The outcome of a request, by its response: one table, and pure.

The first matching row determines the outcome. The message takes precedence
over the code: an unreachable webhook and a webhook that denies a request may
both result in a 500. A denial is never retried.
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
    """The outcome of a request, as named in the documentation."""

    FINAL = "final"
    NOT_YET = "tried again while other objects come"
    STALLS = "retried until the stall timeout"
    MOVES = "retried only while other objects are in progress"
    AGAIN = "sent again"
    REREAD = "read again, then decided"


@dataclasses.dataclass(frozen=True)
class ResponseRule:
    """A response of a server, and the outcome of the request.

    :param name: of the row, unique.
    :param when: a description of the response.
    :param why: the reason for the outcome.
    :param fits: returns whether the response matches.
    :param means: returns the error for the request.
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
    """Return the error for a response of 300 and above."""
    case = Exchange(request, answer, server)
    return matching_rule(case).means(case)


def matching_rule(case: Exchange) -> ResponseRule:
    """Return the first row that matches."""
    return next(row for row in ROWS if row.fits(case))


ROWS: tuple[ResponseRule, ...] = (
    ResponseRule(
        "no dry run",
        "A webhook does not support a dry run",
        RetryPolicy.NOT_YET,
        "The object cannot be checked before it is applied.",
        response_matchers.message_matches("does not support dry run"),
        Exchange.not_yet,
    ),
    ResponseRule(
        "denied by a webhook",
        "An admission webhook denied the request",
        RetryPolicy.FINAL,
        "It has examined the object and denied it.",
        response_matchers.message_matches(
            "admission webhook .* denied the request"
        ),
        error_mapping.denied,
    ),
    ResponseRule(
        "denied by a policy",
        "A ValidatingAdmissionPolicy denied the request",
        RetryPolicy.FINAL,
        "It has examined the object and denied it.",
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
        "It may be created again once it is deleted.",
        response_matchers.terminating,
        Exchange.not_yet,
    ),
    ResponseRule(
        "account on its way",
        "The service account of a Pod does not exist",
        RetryPolicy.NOT_YET,
        "The account ``default`` follows its namespace after a moment.",
        response_matchers.message_matches("error looking up service account"),
        Exchange.not_yet,
    ),
    ResponseRule(
        "class on its way",
        "The PriorityClass or RuntimeClass of a Pod does not exist",
        RetryPolicy.NOT_YET,
        "Admission sees a new one after a moment. One that the package does "
        "not contain is refused before the first write.",
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
        "Its source was read again once before that.",
        response_matchers.status_in(401),
        error_mapping.unauthenticated,
    ),
    ResponseRule(
        "unauthorized",
        "403 of the authorizer",
        RetryPolicy.FINAL,
        "The user does not have the permission; waiting does not help.",
        response_matchers.unauthorized,
        error_mapping.forbidden,
    ),
    ResponseRule(
        "denied by admission",
        "403 of admission: a quota that is used up, Pod security",
        RetryPolicy.FINAL,
        "The server has examined the object and denied it.",
        response_matchers.status_in(403),
        error_mapping.denied,
    ),
    ResponseRule(
        "namespace missing",
        "404 on a write: the namespace does not exist",
        RetryPolicy.NOT_YET,
        "The package contains it: others were refused before the first write.",
        response_matchers.namespace_missing,
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
        "A kind is served some time after its definition exists. Discovery is "
        "repeated first. An object that is read counts as absent.",
        response_matchers.unserved,
        error_mapping.not_served,
    ),
    ResponseRule(
        "object deleted",
        "404: the object does not exist",
        RetryPolicy.REREAD,
        "An object that is read counts as absent; a write to it is not sent "
        "again.",
        response_matchers.status_in(404),
        error_mapping.absent,
    ),
    ResponseRule(
        "field conflict",
        "409: fields are owned by other managers",
        RetryPolicy.FINAL,
        "Unless ``field_conflicts`` is ``force`` or ``ignore``.",
        response_matchers.has_cause(409, "reason", "FieldManagerConflict"),
        error_mapping.conflict,
    ),
    ResponseRule(
        "writers that met",
        "409 for an apply or a delete without a resourceVersion",
        RetryPolicy.AGAIN,
        "Two writers met, or two created the object; for 10 seconds.",
        response_matchers.concurrent_writers,
        lambda case: case.retryable(error_mapping.FAULT_SECONDS),
    ),
    ResponseRule(
        "another version",
        "409: the object was recreated or has changed",
        RetryPolicy.REREAD,
        "The request was based on an earlier state.",
        response_matchers.status_in(409),
        Exchange.outdated,
    ),
    ResponseRule(
        "too old",
        "410: the resource version is too old",
        RetryPolicy.REREAD,
        "The list or watch begins again.",
        response_matchers.status_in(410),
        error_mapping.expired,
    ),
    ResponseRule(
        "another object",
        "422 on ``metadata.uid``: another object has the name",
        RetryPolicy.REREAD,
        "The intended object no longer exists.",
        response_matchers.has_cause(422, "field", "metadata.uid"),
        Exchange.outdated,
    ),
    ResponseRule(
        "busy",
        "429, 503: too many requests, or the server is starting",
        RetryPolicy.AGAIN,
        "After the time in ``Retry-After``, for 120 seconds.",
        response_matchers.status_in(429, 503),
        error_mapping.busy,
    ),
    ResponseRule(
        "timed out",
        "502, 504: a proxy or the server timed out",
        RetryPolicy.AGAIN,
        "For 120 seconds. The write may have been carried out, which the "
        "evaluation of the next response takes into account.",
        response_matchers.status_in(502, 504),
        error_mapping.timed_out,
    ),
    ResponseRule(
        "fault",
        "500 and other codes from 500 on",
        RetryPolicy.AGAIN,
        "For 10 seconds: etcd has no leader, or the fault persists. The "
        "write may have been carried out.",
        response_matchers.status_in(5),
        error_mapping.server_error,
    ),
    ResponseRule(
        "refused",
        "400, 405, 413, 415, 422 and other codes from 400 on",
        RetryPolicy.FINAL,
        "The object is invalid; the server's message states why.",
        response_matchers.status_in(4),
        Exchange.rejected,
    ),
    ResponseRule(
        "elsewhere",
        "300 to 399: a redirect to another URL",
        RetryPolicy.FINAL,
        "A redirect is not followed: it would receive the credentials.",
        lambda case: True,
        Exchange.rejected,
    ),
)
