"""Convert errors to those of Tacker's v1 API."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import functools
import logging

from tacker.common import exceptions
from tacker.extensions import vnfm

from tacker_k8s_cr.driver import error_text
from tacker_k8s_cr.driver import log_context
from tacker_k8s_cr.model import errors

LOG = logging.getLogger(__name__)

_OF_OPERATION = {
    "instantiate": vnfm.CNFCreateWaitFailed,
    "scale": vnfm.CNFScaleFailed,
    "heal": vnfm.CNFHealFailed,
    "terminate": vnfm.VNFDeleteFailed,
}

_INVALID = (
    errors.PackageInvalid,
    errors.RequestInvalid,
    errors.KindNotServed,
    errors.NamespaceNotFound,
    errors.NotScalable,
    errors.NotHealable,
)


@contextlib.contextmanager
def translate_errors(
    operation: str, instance: str, occurrence: str = ""
) -> Iterator[None]:
    """Convert errors to Tacker's, and log them in full.

    Log lines have the ids of the instance and the occurrence.
    """
    with (
        log_context.log_ids(instance, occurrence),
        error_text.translate_errors(
            LOG,
            operation,
            functools.partial(_tacker_error, operation),
            exceptions.TackerException,
            lambda kind: exceptions.TackerException(
                f"{operation}: internal error ({kind}); see the conductor's "
                "log"
            ),
        ),
    ):
        yield


def unsupported(operation: str) -> exceptions.TackerException:
    """Return the error for an operation that this driver does not have."""
    return exceptions.TackerException(
        f"{operation} is not supported by the infra driver kubernetes_cr; "
        "nothing was changed"
    )


def _tacker_error(
    operation: str, error: errors.Error
) -> exceptions.TackerException:
    text = error_text.format_error(error)
    if isinstance(error, _INVALID):
        return exceptions.InvalidInput(error_message=text)
    if isinstance(error, errors.InstanceConflict | errors.OperationInProgress):
        return exceptions.Conflict(text)
    kind = _OF_OPERATION.get(operation)
    return kind(reason=text) if kind else exceptions.TackerException(text)
