"""What a caller may choose for an operation."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr.applying import conflicts
from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.kinds import scaling
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package import validation
from tacker_k8s_cr.subjects import Subject


@dataclasses.dataclass(frozen=True)
class Options:
    """What a caller may choose for an operation.

    :param dry_run: let the server check every object before the first
        write; costs a request for each.
    :param conflict: ``fail`` on a field that another manager owns, ``take``
        it, or ``leave`` it to that manager.
    :param dwell: seconds after which an object that shows the same error,
        and on which nothing moves, ends the operation as blocked.
    :param adopt: objects to take over from whoever has them, but for
        instances that live.
    :param resend: send every object, including those that an apply would not
        change.
    :param take_from: objects to take over from such an instance, by object
        which it is.
    :param grace_seconds: given to what is deleted; None for each kind's own.
    :param lose_others: delete namespaces and definitions even though
        objects of others go with them.
    :param check_rights: ask, before the first write, whether the user has
        the rights that a package needs.
    :param on_terminate: what is kept (True) or deleted (False) when an
        instance ends, whatever its manifests and its policy say.
    :param on_terminate_else: the same of what nothing else is said.
    :param clear: what is removed in a workload cluster before its Cluster
        is deleted, of ``clearing.ALL``; None for what its manifest says.
    :param statefulset_claims: ``delete`` or ``retain`` the volume claims of
        StatefulSets when an instance is terminated, overriding manifests
        and the policy of the instance; empty to follow these.
    :param statefulset_claims_else: the same, if neither manifest nor policy
        specifies it.
    :param remove_finalizers: objects that go without their finalizers.
    :param recreate: objects that a change may delete and make again, where
        they cannot be changed in place.
    :param retain: objects that a change keeps, although the package does not
        name them, unless their kinds or they themselves may be pruned.
    :param rollout: ``allow`` a change of package to replace machines, or
        ``refuse`` it.
    :param versions: a change takes workload clusters to another version of
        Kubernetes ``together`` with all else that differs, or ``first``, and
        goes on when they have got there.
    :param on_failed: ``end`` the wait at once when an object failed or is
        blocked, or ``settle``: first wait for the others.
    :param autoscaled: ``refuse`` to scale what an autoscaler keeps the
        number of, or ``move`` its bounds, unless the object says which.
    :param field_validation: whether an unknown field of a manifest, or a
        repeated variable, is a fault (``strict``), or a warning (``warn``);
        the field is then left out, and the last variable counts.
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
    on_terminate_else: Mapping[Subject, bool] = dataclasses.field(
        default_factory=dict
    )
    clear: frozenset[str] | None = None
    statefulset_claims: str = ""
    statefulset_claims_else: str = claims.DELETE
    remove_finalizers: frozenset[ObjectRef] = frozenset()
    on_failed: str = "end"
    recreate: frozenset[ObjectRef] = frozenset()
    retain: frozenset[ObjectRef] = frozenset()
    rollout: str = "allow"
    versions: str = "together"
    autoscaled: str = scaling.REFUSE
    heal_machines: str = "delete"
    take_from: Mapping[ObjectRef, str] = dataclasses.field(
        default_factory=dict
    )
    field_validation: str = validation.STRICT
    resend: bool = False

    def __post_init__(self) -> None:
        validation.is_lenient(self.field_validation)
        if self.conflict not in conflicts.WAYS:
            raise errors.RequestInvalid(
                f"conflict: {self.conflict!r} is not one of "
                f"{', '.join(conflicts.WAYS)}"
            )
        if self.on_failed not in ("end", "settle"):
            raise errors.RequestInvalid(
                f"on_failed: {self.on_failed!r} is neither end nor settle"
            )
        for key in ("statefulset_claims", "statefulset_claims_else"):
            value = getattr(self, key)
            if value and value not in claims.RETENTIONS:
                raise errors.RequestInvalid(
                    f"{key}: expected delete or retain, got {value!r}"
                )
        if self.rollout not in ("allow", "refuse"):
            raise errors.RequestInvalid(
                f"rollout: {self.rollout!r} is neither allow nor refuse"
            )
        if self.versions not in ("together", "first"):
            raise errors.RequestInvalid(
                f"versions: {self.versions!r} is neither together nor first"
            )
        if self.autoscaled not in scaling.WAYS:
            raise errors.RequestInvalid(
                f"autoscaled: {self.autoscaled!r} is neither refuse nor move"
            )
        if self.heal_machines not in ("delete", "remediate"):
            raise errors.RequestInvalid(
                f"heal_machines: {self.heal_machines!r} is neither delete nor "
                "remediate"
            )


DEFAULT = Options()
