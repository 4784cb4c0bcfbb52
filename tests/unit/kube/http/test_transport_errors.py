"""What an error of a connection means."""

from __future__ import annotations

import ssl

import pytest
from urllib3 import exceptions

from tacker_k8s_cr.kube.http import transport_errors
from tacker_k8s_cr.kube.http.http_model import Retryable
from tacker_k8s_cr.model.errors import Unreachable

SERVER = "https://192.0.2.1:6443"


def of_tls(reason):
    """As urllib3 raises it."""
    error = ssl.SSLError(1, f"[SSL: {reason}]")
    error.reason = reason
    return exceptions.SSLError(error)


def test_a_record_that_one_side_did_not_understand_is_sent_again():
    """The next connection has nothing of it."""
    found = transport_errors.to_error(
        SERVER, of_tls("TLSV1_ALERT_DECODE_ERROR")
    )

    assert isinstance(found, Retryable)
    assert found.carried_out
    assert "TLS failed: TLSV1_ALERT_DECODE_ERROR" in str(found.why)


@pytest.mark.parametrize(
    "reason", ["WRONG_VERSION_NUMBER", "TLSV13_ALERT_CERTIFICATE_REQUIRED"]
)
def test_an_error_that_a_setting_explains_is_raised_at_once(reason):
    """A retry would fail as well."""
    found = transport_errors.to_error(SERVER, of_tls(reason))

    assert isinstance(found, Unreachable)
    assert f"TLS failed: {reason}" in str(found)
