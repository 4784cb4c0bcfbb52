"""Map an error of the connection to an error of the package: pure."""

from __future__ import annotations

import ssl

from urllib3 import exceptions

from tacker_k8s_cr.kube.http.http_model import Retryable
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.errors import Unreachable
from tacker_k8s_cr.model.errors.connection import UNTRUSTED

_RESTART_SECONDS = 20.0
"""Seconds to retry while no server listens: a restart takes about 6."""

_LOOKUP_SECONDS = 5.0
"""Seconds to retry while the server's name cannot be resolved."""

_GARBLED = (
    "DECRYPTION_FAILED_OR_BAD_RECORD_MAC",
    "SSLV3_ALERT_BAD_RECORD_MAC",
    "TLSV1_ALERT_DECODE_ERROR",
    "TLSV1_ALERT_INTERNAL_ERROR",
)
"""OpenSSL's errors for a record that one side could not decode: no setting
causes them, and the next connection does not have them."""


def to_error(server: str, error: Exception) -> Error | Retryable:
    """Return the error for a failure of the connection."""
    cause: BaseException | None = error
    if isinstance(error, exceptions.SSLError) and error.args:
        cause = error.args[0]
    if isinstance(cause, ssl.SSLCertVerificationError):
        why = f"{UNTRUSTED}: {cause.verify_message}"
        return Unreachable(server, why)
    ended = (ssl.SSLEOFError, ssl.SSLZeroReturnError)
    if isinstance(cause, ssl.SSLError) and not isinstance(cause, ended):
        why = f"TLS failed: {cause.reason or 'no reason'}"
        failed = Unreachable(server, why)
        if cause.reason in _GARBLED:
            return Retryable(
                failed, patience=_LOOKUP_SECONDS, carried_out=True
            )
        return failed
    if isinstance(error, exceptions.NameResolutionError):
        why = "its name cannot be resolved"
        return Retryable(Unreachable(server, why), patience=_LOOKUP_SECONDS)
    if isinstance(error, exceptions.NewConnectionError):
        return Retryable(
            Unreachable(server, _system(error)), patience=_RESTART_SECONDS
        )
    if isinstance(error, exceptions.ConnectTimeoutError):
        return Retryable(
            Unreachable(server, "no answer"), patience=_RESTART_SECONDS
        )
    if isinstance(error, exceptions.ProxyError):
        return Retryable(
            Unreachable(server, "proxy failed"), patience=_LOOKUP_SECONDS
        )
    why = "the connection broke"
    if isinstance(error, exceptions.ReadTimeoutError):
        why = "it did not answer in time"
    return Retryable(
        Unreachable(server, why), patience=_RESTART_SECONDS, carried_out=True
    )


def _system(error: Exception) -> str:
    """Return the system's message, such as ``Connection refused``."""
    cause = error.__cause__ or error.__context__
    return getattr(cause, "strerror", None) or "no connection"
