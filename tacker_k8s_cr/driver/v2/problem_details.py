"""Convert errors to problem details of Tacker's v2 API."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import logging

from tacker.sol_refactored.common import exceptions

from tacker_k8s_cr.driver import error_text
from tacker_k8s_cr.driver import log_context
from tacker_k8s_cr.model import errors

LOG = logging.getLogger(__name__)

_KINDS: tuple[tuple[tuple[type[errors.Error], ...], int, str], ...] = (
    ((errors.NotSupported,), 422, "Not supported"),
    ((errors.RequestInvalid,), 400, "Request invalid"),
    ((errors.PackageInvalid,), 400, "VNF package invalid"),
    ((errors.KindNotServed,), 422, "Kind not served by the cluster"),
    ((errors.NamespaceNotFound,), 422, "Namespace not found"),
    ((errors.NotScalable,), 422, "Not scalable"),
    ((errors.NotHealable,), 422, "Not healable"),
    ((errors.RollbackIncomplete,), 422, "Rollback incomplete"),
    ((errors.InstanceNotFound,), 404, "VNF instance has no record"),
    (
        (errors.InstanceExists, errors.InstanceElsewhere),
        409,
        "VNF instance already exists",
    ),
    ((errors.AttemptUnverified,), 409, "Earlier attempt not verified"),
    ((errors.RecordInvalid, errors.RecordMissing), 409, "Record not usable"),
    ((errors.InstanceConflict,), 409, "VNF instance in another state"),
    (
        (errors.OperationInProgress, errors.LockLost),
        409,
        "Another operation in progress",
    ),
    (
        (errors.OwnedByOther, errors.ForeignObjects),
        409,
        "Objects have another owner",
    ),
    ((errors.RolloutRefused,), 409, "Machines would be replaced"),
    (
        (errors.FieldConflict, errors.Conflict),
        409,
        "Changed by another client",
    ),
    ((errors.Unauthenticated,), 401, "Credential rejected by the VIM"),
    (
        (errors.Forbidden, errors.PermissionsMissing),
        403,
        "Forbidden by the VIM",
    ),
    ((errors.Rejected, errors.DryRunFailed), 422, "Rejected by the VIM"),
    ((errors.Unreachable, errors.Unavailable), 503, "VIM not available"),
    (
        (errors.ReadinessTimeout, errors.DeletionTimeout),
        504,
        "Deadline passed",
    ),
    ((errors.CleanupFailed,), 422, "Cleanup of the workload cluster failed"),
    ((errors.RetentionImpossible,), 409, "Objects cannot be retained"),
    ((errors.DependencyMissing,), 504, "Dependency missing at the deadline"),
    ((errors.ObjectsFailed,), 422, "Objects failed"),
    ((errors.KubeconfigInvalid,), 400, "Kubeconfig invalid"),
    ((errors.DeliveryFailed,), 422, "Not delivered"),
    ((errors.PluginInvalid,), 500, "Plug-in invalid"),
    ((errors.HandlerFailed,), 500, "Plug-in failed"),
)
"""Status and title by class of error; the first match counts."""


@contextlib.contextmanager
def translate_errors(
    operation: str, instance: str, occurrence: str = ""
) -> Iterator[None]:
    """Convert errors to Tacker's, and log them in full."""
    with (
        log_context.log_ids(instance, occurrence),
        error_text.translate_errors(
            LOG,
            operation,
            problem,
            exceptions.SolException,
            lambda kind: exceptions.SolException(
                sol_title="Internal error",
                sol_detail=f"{operation}: {kind}; see the conductor's log",
            ),
        ),
    ):
        yield


@contextlib.contextmanager
def not_synchronized(instance: str) -> Iterator[None]:
    """Convert errors of a synchronization, which Tacker logs."""
    try:
        yield
    except errors.Error as error:
        raise exceptions.DbSyncFailed(
            f"{instance}: {error_text.format_error(error)}"
        ) from error


def problem(error: errors.Error) -> exceptions.SolException:
    """Return status, title and detail of an error."""
    status, title = next(
        (
            (status, title)
            for kinds, status, title in _KINDS
            if isinstance(error, kinds)
        ),
        (500, "Internal Server Error"),
    )
    return exceptions.SolException(
        sol_status=status,
        sol_title=title,
        sol_detail=error_text.format_error(error),
    )
