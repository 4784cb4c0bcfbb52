"""Our errors as Tacker's: a sentence for the user, the rest for the log."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import logging

from tacker.common import exceptions
from tacker.extensions import vnfm

from tacker_k8s_cr import errors
from tacker_k8s_cr.driver import lines

LOG = logging.getLogger(__name__)

LONGEST = 4000
"""Characters of a sentence: it becomes part of a record in the database,
which notifications and answers repeat."""

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

    An error that is not ours is a fault of the program: its text is for the
    log, since nobody can know what it holds. Every line of the log is
    marked with the instance and the occurrence.
    """
    with lines.about(instance, occurrence):
        try:
            yield
        except errors.Error as error:
            LOG.error("%s failed: %s", operation, error)
            LOG.debug("%s failed", operation, exc_info=True)
            raise _tackers(operation, error) from error
        except exceptions.TackerException:
            raise
        except Exception as error:
            LOG.exception("%s failed", operation)
            raise exceptions.TackerException(
                f"{operation}: fault of the program "
                f"({type(error).__name__}); the conductor's log says more"
            ) from error


def unsupported(operation: str) -> exceptions.TackerException:
    """For what Tacker may ask of a driver and this one does not do."""
    return exceptions.TackerException(
        f"{operation} is not supported by the infra driver kubernetes_cr; "
        "nothing was changed"
    )


def _tackers(
    operation: str, error: errors.Error
) -> exceptions.TackerException:
    said = str(error)
    if len(said) > LONGEST:
        said = f"{said[:LONGEST]}\n... (the rest is in the conductor's log)"
    if isinstance(error, _INVALID):
        return exceptions.InvalidInput(error_message=said)
    if isinstance(error, errors.InstanceExists | errors.Busy):
        return exceptions.Conflict(said)
    kind = _OF_OPERATION.get(operation)
    return kind(reason=said) if kind else exceptions.TackerException(said)
