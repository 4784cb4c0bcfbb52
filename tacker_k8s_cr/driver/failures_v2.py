"""Our errors as problem details of Tacker's v2 API."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import logging

from tacker.sol_refactored.common import exceptions

from tacker_k8s_cr import errors
from tacker_k8s_cr.driver import faults
from tacker_k8s_cr.driver import lines

LOG = logging.getLogger(__name__)

_KINDS: tuple[tuple[tuple[type[errors.Error], ...], int, str], ...] = (
    ((errors.NotSupported,), 422, "Not supported"),
    ((errors.RequestInvalid,), 400, "Request invalid"),
    ((errors.PackageInvalid,), 400, "VNF package invalid"),
    ((errors.KindUnknown,), 422, "Kind not served by the cluster"),
    ((errors.NamespaceAbsent,), 422, "Namespace absent"),
    ((errors.NotScalable,), 422, "Not scalable"),
    ((errors.NotHealable,), 422, "Not healable"),
    ((errors.NotRestored,), 422, "Not restored"),
    ((errors.InstanceUnknown,), 404, "No record of the VNF instance"),
    ((errors.InstanceExists,), 409, "VNF instance in another state"),
    ((errors.Busy, errors.LockLost), 409, "Another operation in progress"),
    ((errors.Owned, errors.WouldBeLost), 409, "Objects of others concerned"),
    ((errors.WouldReplace,), 409, "Machines would be replaced"),
    ((errors.Conflict, errors.Outdated), 409, "Changed by somebody else"),
    ((errors.Unauthenticated,), 401, "VIM refuses the credential"),
    ((errors.Forbidden, errors.RightsLacking), 403, "Forbidden by the VIM"),
    ((errors.Rejected, errors.Refused), 422, "Refused by the VIM"),
    ((errors.Unreachable, errors.Unavailable), 503, "VIM not available"),
    ((errors.NotReady, errors.NotGone), 504, "Not done in time"),
    ((errors.NotCleared,), 422, "Workload cluster not cleared"),
    ((errors.NotKept,), 409, "Objects cannot be kept"),
    ((errors.NotYet,), 504, "Not possible in time"),
    ((errors.Failed,), 422, "Objects failed"),
    ((errors.KubeconfigInvalid,), 400, "Kubeconfig invalid"),
    ((errors.NotDelivered,), 422, "Not delivered"),
    ((errors.PluginInvalid,), 500, "Plug-in invalid"),
    ((errors.HandlerFailed,), 500, "Plug-in failed"),
)
"""Status and title of each kind of error; the first that fits counts."""


@contextlib.contextmanager
def translated(
    operation: str, instance: str, occurrence: str = ""
) -> Iterator[None]:
    """Raise Tacker's error in the place of ours, and log ours in full."""
    with (
        lines.about(instance, occurrence),
        faults.translated(
            LOG,
            operation,
            problem,
            exceptions.SolException,
            lambda kind: exceptions.SolException(
                sol_title="Fault of the program",
                sol_detail=f"{operation}: {kind}; the log of the conductor "
                "says where",
            ),
        ),
    ):
        yield


@contextlib.contextmanager
def not_synchronized(instance: str) -> Iterator[None]:
    """The same for a synchronization of the database, which Tacker logs."""
    try:
        yield
    except errors.Error as error:
        raise exceptions.DbSyncFailed(
            f"{instance}: {faults.told(error)}"
        ) from error


def problem(error: errors.Error) -> exceptions.SolException:
    """Status, title and detail for an error of ours."""
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
        sol_detail=faults.told(error),
    )
