"""Our errors as Tacker's: a sentence for the user, the rest for the log."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import functools
import logging

from tacker.common import exceptions
from tacker.extensions import vnfm

from tacker_k8s_cr import errors
from tacker_k8s_cr.driver import faults
from tacker_k8s_cr.driver import lines

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
    errors.KindUnknown,
    errors.NamespaceAbsent,
    errors.NotScalable,
    errors.NotHealable,
)


@contextlib.contextmanager
def translated(
    operation: str, instance: str, occurrence: str = ""
) -> Iterator[None]:
    """Raise Tacker's error in the place of ours, and log ours in full.

    Every line of the log is marked with the instance and the occurrence.
    """
    with (
        lines.about(instance, occurrence),
        faults.translated(
            LOG,
            operation,
            functools.partial(_tackers, operation),
            exceptions.TackerException,
            lambda kind: exceptions.TackerException(
                f"{operation}: fault of the program ({kind}); the "
                "conductor's log says where"
            ),
        ),
    ):
        yield


def unsupported(operation: str) -> exceptions.TackerException:
    """For what Tacker may ask of a driver and this one does not do."""
    return exceptions.TackerException(
        f"{operation} is not supported by the infra driver kubernetes_cr; "
        "nothing was changed"
    )


def _tackers(
    operation: str, error: errors.Error
) -> exceptions.TackerException:
    said = faults.told(error)
    if isinstance(error, _INVALID):
        return exceptions.InvalidInput(error_message=said)
    if isinstance(error, errors.InstanceExists | errors.Busy):
        return exceptions.Conflict(said)
    kind = _OF_OPERATION.get(operation)
    return kind(reason=said) if kind else exceptions.TackerException(said)
