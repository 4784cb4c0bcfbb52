"""What a caller may choose for an operation."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr.applying import conflicts
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.policy import Subject


@dataclasses.dataclass(frozen=True)
class Options:
    """What a caller may choose for an operation.

    :param dry_run: let the server check every object before the first
        write; costs a request for each.
    :param conflict: ``fail`` on a field that another manager owns, ``take``
        it, or ``leave`` it to that manager.
    :param dwell: seconds after which an object that shows the same error,
        and on which nothing moves, ends the operation as blocked.
    :param adopt: objects to take over from whoever has them.
    :param grace_seconds: given to what is deleted; None for each kind's own.
    :param lose_others: delete namespaces and definitions even though
        objects of others go with them.
    :param check_rights: ask, before the first write, whether the user has
        the rights that a package needs.
    :param on_terminate: what is kept (True) or deleted (False) when an
        instance ends, whatever its manifests and its policy say.
    :param clear: what is removed in a workload cluster before its Cluster
        is deleted, of ``clearing.ALL``; None for what its manifest says.
    :param remove_finalizers: objects that go without their finalizers.
    :param on_failed: ``end`` the wait at once when an object failed or is
        blocked, or ``settle``: first wait for the others.
    :param heal_machines: ``delete`` the machines that a heal replaces, or
        ``remediate``: mark them for a MachineHealthCheck, unless the object
        that they work for says which.
    """

    dry_run: bool = True
    conflict: str = conflicts.FAIL
    dwell: float = 300.0
    adopt: frozenset[ObjectRef] = frozenset()
    grace_seconds: int | None = None
    lose_others: bool = False
    check_rights: bool = True
    on_terminate: Mapping[Subject, bool] = dataclasses.field(
        default_factory=dict
    )
    clear: frozenset[str] | None = None
    remove_finalizers: frozenset[ObjectRef] = frozenset()
    on_failed: str = "end"
    heal_machines: str = "delete"

    def __post_init__(self) -> None:
        if self.conflict not in conflicts.WAYS:
            raise errors.RequestInvalid(
                f"conflict: {self.conflict!r} is not one of "
                f"{', '.join(conflicts.WAYS)}"
            )
        if self.on_failed not in ("end", "settle"):
            raise errors.RequestInvalid(
                f"on_failed: {self.on_failed!r} is neither end nor settle"
            )
        if self.heal_machines not in ("delete", "remediate"):
            raise errors.RequestInvalid(
                f"heal_machines: {self.heal_machines!r} is neither delete nor "
                "remediate"
            )


DEFAULT = Options()
