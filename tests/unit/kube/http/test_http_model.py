"""What an API server's answers mean.

The answers are those of kube-apiserver 1.36.3, taken from a running one
unless a test states otherwise.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from tacker_k8s_cr.kube.http import http_model
from tacker_k8s_cr.kube.http import response_matchers
from tacker_k8s_cr.kube.http import response_rules
from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.http_model import Response
from tacker_k8s_cr.kube.http.http_model import Retryable
from tacker_k8s_cr.model.errors import Conflict
from tacker_k8s_cr.model.errors import DependencyMissing
from tacker_k8s_cr.model.errors import FieldConflict
from tacker_k8s_cr.model.errors import Forbidden
from tacker_k8s_cr.model.errors import Rejected
from tacker_k8s_cr.model.errors import Unauthenticated
from tacker_k8s_cr.model.errors import Unavailable
from tacker_k8s_cr.model.objects import ObjectRef

ONE = ObjectRef("", "ConfigMap", "ns", "one")
APPLY = Request(
    "patch",
    "PATCH",
    "/api/v1/namespaces/ns/configmaps/one",
    "configmaps",
    "ns",
    ONE,
    b"{}",
    http_model.APPLY,
)
LIST = Request("list", "GET", "/api/v1/configmaps", "configmaps")
GET = Request("get", "GET", "/x", "configmaps", "ns", ONE)
DELETE = Request("delete", "DELETE", "/x", "configmaps", "ns", ONE, b"{}")
UPDATE = Request("update", "PUT", "/x", "configmaps", "ns", ONE, b"{}")
PATCH = Request("patch", "PATCH", "/x", "configmaps", "ns", ONE, b"{}")
CREATE = Request("create", "POST", "/x", "configmaps", "ns", ONE, b"{}")


def judged(
    code: int,
    message: str = "",
    reason: str = "",
    request: Request = APPLY,
    after: float = 0.0,
    **details: Any,
) -> Any:
    body = {"message": message, "reason": reason, "details": details}
    answer = Response(code, body, after)
    return response_rules.error_for(request, answer, "https://a.example.org")


def cause(reason: str, message: str, field: str) -> dict[str, str]:
    return {"reason": reason, "message": message, "field": field}


@pytest.mark.parametrize(
    "message",
    [
        "Internal error occurred: failed calling webhook "
        '"default.cluster.cluster.x-k8s.io": failed to call webhook: Post '
        '"https://127.0.0.1:9443/mutate": connect: connection refused',
        "conversion webhook for cluster.x-k8s.io/v1beta2, Kind=Cluster "
        'failed: Post "https://127.0.0.1:9443/convert?timeout=30s": refused',
        # kube-apiserver, pkg/admission/plugin/webhook/errors
        'admission webhook "a.example.org" does not support dry run',
    ],
)
def test_an_unreachable_webhook_is_retried(message: str) -> None:
    """The webhook's words are kept, whatever the code."""
    for code in (400, 500):
        means = judged(code, message)
        assert isinstance(means, DependencyMissing)
        assert message in str(means)


@pytest.mark.parametrize("request_", [CREATE, DELETE, UPDATE, PATCH])
def test_a_write_is_repeated_until_a_webhook_answers(
    request_: Request,
) -> None:
    """An apply is for its caller to repeat; other writes are for us."""
    words = 'failed calling webhook "a.example.org": connection refused'

    means = judged(500, words, request=request_)

    assert isinstance(means, Retryable)
    assert isinstance(means.why, DependencyMissing)
    assert not means.carried_out


@pytest.mark.parametrize("request_", [GET, LIST])
@pytest.mark.requirement("P5")
def test_a_read_is_repeated_until_its_objects_can_be_converted(
    request_: Request,
) -> None:
    """An operation must read what it changes."""
    words = "conversion webhook for example.org/v1, Kind=A failed: refused"

    means = judged(500, words, request=request_)

    assert isinstance(means, Retryable)
    assert isinstance(means.why, DependencyMissing)


@pytest.mark.parametrize("code", [400, 403, 422, 500])
@pytest.mark.requirement("P5")
def test_a_denial_is_final(code: int) -> None:
    """A webhook that denies is not called again; its message is kept."""
    words = (
        'admission webhook "validation.cluster.cluster.x-k8s.io" denied the '
        "request: spec.topology.version: Invalid value"
    )

    means = judged(code, words, "Forbidden")

    assert isinstance(means, Rejected)
    assert words in str(means)


def test_what_the_authorizer_forbids() -> None:
    """Verb, resource and namespace are those of our own request."""
    words = (
        'configmaps "one" is forbidden: User "few" cannot patch resource '
        '"configmaps" in API group "" in the namespace "ns"'
    )

    means = judged(403, words, "Forbidden")

    assert isinstance(means, Forbidden)
    assert ("patch", "configmaps", "ns") == (
        means.verb,
        means.resource,
        means.namespace,
    )


def test_what_admission_forbids() -> None:
    """A quota, or Pod security, rejects the object, not the client."""
    words = 'pods "one" is forbidden: violates PodSecurity "restricted"'

    assert isinstance(judged(403, words, "Forbidden"), Rejected)


def test_an_account_that_is_on_its_way() -> None:
    """A Pod right after its namespace: the account follows."""
    words = (
        'pods "one" is forbidden: error looking up service account '
        'ns/default: serviceaccount "default" not found'
    )

    assert isinstance(judged(403, words, "Forbidden"), DependencyMissing)


def test_a_namespace_that_is_ending() -> None:
    """It may be made again: not yet."""
    words = (
        'configmaps "one" is forbidden: unable to create new content in '
        "namespace ns because it is being terminated"
    )
    ending = cause("NamespaceTerminating", "namespace ns", "")

    assert isinstance(judged(403, words, "Forbidden"), DependencyMissing)
    assert isinstance(
        judged(403, "", "Forbidden", causes=[ending]), DependencyMissing
    )


def test_an_absent_namespace() -> None:
    """An apply into it is not possible yet."""
    means = judged(
        404,
        'namespaces "ns" not found',
        "NotFound",
        name="ns",
        kind="namespaces",
    )

    assert isinstance(means, DependencyMissing)
    assert 'ConfigMap/ns/one: namespaces "ns" not found' == means.outcome()


def test_an_absent_path() -> None:
    """A kind right after its definition has no path yet."""
    means = judged(404, "404 page not found")

    assert isinstance(means, http_model.ResourceNotServedOnWrite)
    assert isinstance(means, DependencyMissing)
    for request in (GET, DELETE, LIST):
        means = judged(404, "404 page not found", request=request)
        assert isinstance(means, http_model.ResourceNotServed)


def test_an_absent_object() -> None:
    """What is patched and gone is outdated; what is read is absent."""
    said = {"name": "one", "kind": "configmaps"}

    assert isinstance(judged(404, "gone", "NotFound", **said), Conflict)
    for request in (GET, DELETE, LIST):
        means = judged(404, "gone", "NotFound", request, **said)
        assert isinstance(means, http_model.NotFound)
        assert not isinstance(means, http_model.ResourceNotServed)


def test_an_absent_role_is_named() -> None:
    """The server's own words name the binding, which is misleading."""
    words = 'rolebindings.rbac.authorization.k8s.io "app" not found'

    means = judged(404, words, "NotFound", BIND, **BOUND)

    assert isinstance(means, DependencyMissing)
    assert ("Role", "ns/web") == means.missing
    assert "it refers to Role ns/web, which does not exist" in str(means)


def test_a_conflict_names_field_and_manager() -> None:
    """Each field that another manager owns, by path, with its owner."""
    causes = [
        cause(
            "FieldManagerConflict",
            'conflict with "kubectl" using apps/v1',
            ".spec.replicas",
        ),
        cause(
            "FieldManagerConflict",
            'conflict with "kube-controller-manager" with subresource '
            '"scale" using apps/v1 at 2026-11-21T11:00:00Z',
            '.spec.containers[name="a"].image',
        ),
    ]

    means = judged(409, "Apply failed", "Conflict", causes=causes)

    assert isinstance(means, FieldConflict)
    assert {
        "spec.replicas": "kubectl",
        'spec.containers[name="a"].image': "kube-controller-manager",
    } == means.fields


def test_an_apply_for_a_deleted_object() -> None:
    """A uid in the manifest that nothing has."""
    words = (
        'Operation cannot be fulfilled on configmaps "a": uid mismatch: the '
        "provided object specified uid 123, and no existing object was found"
    )

    assert isinstance(judged(409, words, "Conflict"), Conflict)


def test_an_apply_for_another_object() -> None:
    """A uid in the manifest that is not the live one."""
    causes = [cause("FieldValueInvalid", "immutable", "metadata.uid")]

    means = judged(422, "is invalid", "Invalid", causes=causes)

    assert isinstance(means, Conflict)


def test_writers_that_meet() -> None:
    """An apply or delete goes again; what has a version is outdated."""
    words = (
        'Operation cannot be fulfilled on configmaps "a": the object has '
        "been modified; please apply your changes to the latest version"
    )

    assert isinstance(judged(409, words, "Conflict"), Retryable)
    assert isinstance(judged(409, words, "Conflict", DELETE), Retryable)
    assert isinstance(judged(409, words, "Conflict", CREATE), Conflict)


def test_a_manifest_that_does_not_fit() -> None:
    """A misspelt field answers 500 without a reason, and is final.

    The sentence names the field, and no fault of the server.
    """
    words = (
        "failed to create typed patch object (ns/one; /v1, Kind=ConfigMap): "
        ".datta: field not declared in schema"
    )

    means = judged(500, words)

    assert isinstance(means, Rejected)
    assert "ConfigMap/ns/one: unknown field datta" == means.outcome()


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504, 507])
def test_what_may_pass(code: int) -> None:
    """It is tried again, as the server asks; then it is unavailable."""
    means = judged(code, "busy", after=5.0)

    assert isinstance(means, Retryable)
    assert 5.0 == means.after
    assert isinstance(means.why, Unavailable)
    assert f"patch ConfigMap/ns/one: busy ({code})" == means.why.outcome()


@pytest.mark.parametrize("code", [301, 400, 405, 406, 413, 415, 418, 422])
def test_what_does_not_pass(code: int) -> None:
    """Anything else that is refused is final."""
    assert isinstance(judged(code, "no", "BadRequest"), Rejected)


def test_a_credential_that_is_refused() -> None:
    """The server is named."""
    means = judged(401, "Unauthorized", "Unauthorized")

    assert isinstance(means, Unauthenticated)
    expected = "the API server https://a.example.org refuses the credential"
    assert expected == means.outcome()


def test_a_version_that_is_too_old() -> None:
    """A list or watch has to begin again."""
    means = judged(410, "too old resource version", "Expired", LIST)

    assert isinstance(means, http_model.ResourceExpired)


WRITE = {"kind": "configmaps", "name": "one"}
BIND = dataclasses.replace(
    APPLY,
    ref=ObjectRef("rbac.authorization.k8s.io", "RoleBinding", "ns", "app"),
    body=json.dumps({"roleRef": {"kind": "Role", "name": "web"}}).encode(),
)
BOUND = {
    "kind": "rolebindings",
    "group": "rbac.authorization.k8s.io",
    "name": "app",
}
TAKEN = {"reason": "FieldManagerConflict", "field": ".data.a", "message": ""}

ROWS: list[tuple[str, int, str, Request, dict[str, Any], type]] = [
    (
        "no dry run",
        400,
        'admission webhook "a.example.org" does not support dry run',
        APPLY,
        {},
        DependencyMissing,
    ),
    (
        "denied by a webhook",
        500,
        'admission webhook "a.example.org" denied the request: failed '
        "calling webhook for fun",
        APPLY,
        {},
        Rejected,
    ),
    (
        "denied by a policy",
        422,
        "ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no",
        APPLY,
        {},
        Rejected,
    ),
    (
        "webhook of another name",
        500,
        'Internal error occurred: failed calling webhook "a.example.org": '
        'failed to call webhook: Post "https://a.ns.svc:443/mutate": tls: '
        "failed to verify certificate: x509: certificate is valid for "
        "b.ns.svc, not a.ns.svc",
        PATCH,
        {},
        DependencyMissing,
    ),
    (
        "webhook not trusted",
        500,
        'Internal error occurred: failed calling webhook "a.example.org": '
        'failed to call webhook: Post "https://a.ns.svc:443/mutate": tls: '
        "failed to verify certificate: x509: certificate signed by unknown "
        "authority",
        PATCH,
        {},
        Retryable,
    ),
    (
        "webhook away",
        500,
        "Internal error occurred: failed calling webhook "
        '"default.cluster.cluster.x-k8s.io": failed to call webhook: Post '
        '"https://capi-webhook-service.capi-system.svc:443/mutate": no '
        'endpoints available for service "capi-webhook-service"',
        APPLY,
        {},
        DependencyMissing,
    ),
    (
        "conversion webhook away",
        500,
        "conversion webhook for cluster.x-k8s.io/v1beta2, Kind=Cluster "
        'failed: Post "https://127.0.0.1:9443/convert?timeout=30s": refused',
        UPDATE,
        {},
        Retryable,
    ),
    (
        "namespace terminating",
        403,
        "",
        APPLY,
        {"causes": [{"reason": "NamespaceTerminating"}]},
        DependencyMissing,
    ),
    (
        "account on its way",
        403,
        'pods "one" is forbidden: error looking up service account '
        'ns/default: serviceaccount "default" not found',
        APPLY,
        {},
        DependencyMissing,
    ),
    (
        "class on its way",
        403,
        'pods "one" is forbidden: no PriorityClass with name high was found',
        APPLY,
        {},
        DependencyMissing,
    ),
    (
        "class on its way",
        403,
        'pods "one" is forbidden: pod rejected: RuntimeClass "gvisor" not '
        "found",
        APPLY,
        {},
        DependencyMissing,
    ),
    (
        "quota not counted",
        403,
        'pods "one" is forbidden: status unknown for quota: few, resources: '
        "pods",
        APPLY,
        {},
        DependencyMissing,
    ),
    (
        "does not fit",
        500,
        "failed to create typed patch object (ns/one; /v1, Kind=ConfigMap): "
        ".datta: field not declared in schema",
        APPLY,
        {},
        Rejected,
    ),
    ("unauthenticated", 401, "Unauthorized", GET, {}, Unauthenticated),
    (
        "unauthorized",
        403,
        'configmaps "one" is forbidden: User "few" cannot patch resource '
        '"configmaps" in API group "" in the namespace "ns"',
        APPLY,
        {},
        Forbidden,
    ),
    (
        "denied by admission",
        403,
        'pods "one" is forbidden: exceeded quota: few, requested: pods=1',
        APPLY,
        {},
        Rejected,
    ),
    (
        "namespace missing",
        404,
        'namespaces "ns" not found',
        APPLY,
        {"name": "ns", "kind": "namespaces"},
        DependencyMissing,
    ),
    (
        "role missing",
        404,
        'rolebindings.rbac.authorization.k8s.io "app" not found',
        BIND,
        BOUND,
        DependencyMissing,
    ),
    (
        "kind not served",
        404,
        "page not found",
        APPLY,
        {},
        http_model.ResourceNotServedOnWrite,
    ),
    (
        "kind not served",
        404,
        "page not found",
        GET,
        {},
        http_model.ResourceNotServed,
    ),
    ("object deleted", 404, "not found", APPLY, WRITE, Conflict),
    ("object deleted", 404, "not found", GET, WRITE, http_model.NotFound),
    (
        "field conflict",
        409,
        "",
        APPLY,
        {"causes": [TAKEN]},
        FieldConflict,
    ),
    (
        "writers that met",
        409,
        'configmaps "one" already exists',
        APPLY,
        WRITE,
        Retryable,
    ),
    ("another version", 409, "been modified", UPDATE, WRITE, Conflict),
    ("too old", 410, "too old", LIST, {}, http_model.ResourceExpired),
    (
        "another object",
        422,
        "is invalid",
        APPLY,
        {"causes": [{"field": "metadata.uid"}]},
        Conflict,
    ),
    ("busy", 429, "too many requests", APPLY, {}, Retryable),
    ("busy", 503, "starting", GET, {}, Retryable),
    ("timed out", 504, "timeout", APPLY, {}, Retryable),
    ("timed out", 502, "bad gateway", APPLY, {}, Retryable),
    ("fault", 500, "etcdserver: leader changed", APPLY, {}, Retryable),
    ("refused", 422, "is invalid", APPLY, {}, Rejected),
    ("elsewhere", 302, "", GET, {}, Rejected),
]


@pytest.mark.parametrize(
    ("name", "code", "message", "request_", "details", "means"), ROWS
)
@pytest.mark.requirement("P5", "B5")
def test_each_row_of_the_table(
    name: str,
    code: int,
    message: str,
    request_: Request,
    details: dict[str, Any],
    means: type,
) -> None:
    """What is tried again, what is final, and by which row."""
    body = {"message": message, "details": details}
    case = response_matchers.Exchange(
        request_, Response(code, body), "https://a.example.org"
    )

    found = response_rules.matching_rule(case)

    assert name == found.name
    meaning = found.means(case)
    assert means is type(meaning)
    final = found.outcome is response_rules.RetryPolicy.FINAL
    tried = isinstance(meaning, Retryable | DependencyMissing)
    assert not (final and tried)


def test_no_row_is_untested() -> None:
    """Nor is one twice in the table."""
    names = [row.name for row in response_rules.ROWS]

    assert sorted(set(names)) == sorted(names)
    assert {row[0] for row in ROWS} == set(names)


@pytest.mark.requirement("P5")
def test_a_webhook_that_is_waited_for_is_named() -> None:
    """For the line of the log that reports the wait."""
    assert "default.cluster.cluster.x-k8s.io" == (
        judged(500, ROWS[5][2]).webhook
    )
    assert (
        "conversion webhook for cluster.x-k8s.io/v1beta2, Kind=Cluster"
        == judged(500, ROWS[6][2]).webhook
    )


def test_what_a_package_may_bring_is_named() -> None:
    """So that one which it does not bring is refused at once."""
    found = [judged(403, row[2]).missing for row in ROWS[9:11]]

    assert [("PriorityClass", "high"), ("RuntimeClass", "gvisor")] == found


def test_every_answer_means_something() -> None:
    """No code and no verb is left without a meaning."""
    for code in range(300, 600):
        for request in (APPLY, LIST, GET, DELETE, CREATE):
            assert judged(code, "words", request=request)


def test_a_secrets_values_are_masked() -> None:
    """Longer ones first, so that no part is left; other values stay."""
    sent = {"data": {"a": "abc", "b": "abcdef"}, "stringData": {"c": 7777}}
    text = json.dumps(sent).encode()
    secret = ObjectRef("", "Secret", "ns", "one")
    request = Request("patch", "PATCH", "/x", "secrets", "ns", secret, text)
    words = "expected string, got abcdef, abc and 7777"

    means = judged(400, words, request=request)

    assert "expected string, got ***, *** and ***" == means.message
    other = dataclasses.replace(request, ref=ONE)
    assert words == judged(400, words, request=other).message


def test_a_request_does_not_show_its_body() -> None:
    """The body may be a Secret."""
    request = Request("patch", "PATCH", "/x", "secrets", body=b"s3cret")

    assert "s3cret" not in repr(request)
