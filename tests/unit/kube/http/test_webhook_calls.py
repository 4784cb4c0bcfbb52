"""The API server's messages about a webhook that it cannot call.

The words are those of kube-apiserver 1.36.3 and of Go's crypto/x509.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies
import pytest

from tacker_k8s_cr.kube.http import webhook_calls
from tacker_k8s_cr.model.errors import Outlook

HEAD = (
    'Internal error occurred: failed calling webhook "a.example.org": failed '
    'to call webhook: Post "https://a.ns.svc:443/mutate?timeout=10s": '
)


@pytest.mark.parametrize(
    ("cause", "outlook"),
    [
        ("dial tcp 10.0.0.1:443: connect: connection refused", Outlook.OPEN),
        ('no endpoints available for service "a"', Outlook.OPEN),
        ('service "a" not found', Outlook.OPEN),
        ("context deadline exceeded", Outlook.OPEN),
        ("EOF", Outlook.OPEN),
        (
            "tls: failed to verify certificate: x509: certificate signed by "
            "unknown authority",
            Outlook.DOUBTFUL,
        ),
        (
            "tls: failed to verify certificate: x509: certificate has expired "
            "or is not yet valid: current time 2026-01-01T00:00:00Z",
            Outlook.DOUBTFUL,
        ),
        ("remote error: tls: bad certificate", Outlook.DOUBTFUL),
        (
            "http: server gave HTTP response to HTTPS client",
            Outlook.DOUBTFUL,
        ),
        ("the server could not find the requested resource", Outlook.DOUBTFUL),
        (
            "unable to load root certificates: unable to parse bytes as PEM "
            "block",
            Outlook.DOUBTFUL,
        ),
        (
            "tls: failed to verify certificate: x509: certificate is valid "
            "for b.ns.svc, not a.ns.svc",
            Outlook.NONE,
        ),
        (
            "tls: failed to verify certificate: x509: certificate is not "
            "valid for any names, but wanted to match a.ns.svc",
            Outlook.NONE,
        ),
        (
            "tls: failed to verify certificate: x509: cannot validate "
            "certificate for 127.0.0.1 because it doesn't contain any IP SANs",
            Outlook.NONE,
        ),
    ],
)
def test_a_call_is_classified_by_its_cause(
    cause: str, outlook: Outlook
) -> None:
    """Whether waiting helps depends on what went wrong."""
    found = webhook_calls.parse_failure(HEAD + cause)

    assert webhook_calls.FailedCall("a.example.org", cause, outlook) == found


def test_a_conversion_is_classified_alike() -> None:
    """By the kind, since its webhook has no name."""
    found = webhook_calls.parse_failure(
        "conversion webhook for example.org/v1, Kind=A failed: Post "
        '"https://a.ns.svc:443/convert?timeout=30s": tls: failed to verify '
        "certificate: x509: certificate is valid for b.ns.svc, not a.ns.svc"
    )

    assert "conversion webhook for example.org/v1, Kind=A" == found.hook
    assert found.cause.startswith("tls: failed to verify")
    assert Outlook.NONE is found.outlook


def test_a_denial_about_a_certificate_is_not_a_failed_call() -> None:
    """Its words are about the object."""
    found = webhook_calls.parse_failure(
        'admission webhook "a.example.org" denied the request: x509: '
        "certificate is valid for b, not a"
    )

    assert webhook_calls.FailedCall() == found


@given(strategies.text())
def test_any_text_can_be_read(said: str) -> None:
    """No text of a server raises an error."""
    assert webhook_calls.parse_failure(HEAD + said).hook == "a.example.org"
    webhook_calls.parse_failure(said)
