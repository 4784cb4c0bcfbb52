"""What a caller may choose for an operation."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.kinds import autoscaling
from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import field_validation
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.selectors import Subject
from tacker_k8s_cr.plan import conflict_strategy


@dataclasses.dataclass(frozen=True)
class Options:
    """What a caller may choose for an operation.

    :param dry_run: let the server check every object before the first
        write; costs a request for each.
    :param field_conflicts: ``fail`` on a field that another manager owns,
        ``force`` the change, or ``ignore`` the field.
    :param stall_timeout: seconds after which an object that shows the same
        error, and makes no progress, fails the operation.
    :param adopt: existing objects to adopt, unless another instance
        manages them.
    :param resend: send every object, including those that an apply would not
        change.
    :param transfer_from: by object to transfer, its source instance.
    :param grace_seconds: given to what is deleted; None for each kind's own.
    :param delete_foreign_objects: delete namespaces and definitions even
        if this deletes objects of other owners.
    :param check_permissions: check, before the first write, whether the user
        has the permissions that a package needs.
    :param on_terminate: what is retained (True) or deleted (False) when an
        instance is terminated, overriding manifests and policy.
    :param on_terminate_default: the same if neither specifies it.
    :param cleanup: what is removed in a workload cluster before its Cluster
        is deleted, of ``workload_cleanup.ALL``; None for what its manifest
        specifies.
    :param statefulset_claims: ``delete`` or ``retain`` the volume claims of
        StatefulSets when an instance is terminated, overriding manifests
        and the policy of the instance; empty to follow these.
    :param statefulset_claims_else: the same, if neither manifest nor policy
        specifies it.
    :param remove_finalizers: objects whose finalizers are removed.
    :param recreate: objects that a change may delete and create again, where
        they cannot be changed in place.
    :param retain: objects that a change retains although the package does not
        contain them, unless a manifest or the policy allows to prune them.
    :param rollout: ``allow`` a change of package to replace machines, or
        ``refuse`` it.
    :param kubernetes_upgrade: a change upgrades Kubernetes of workload
        clusters ``with_change``, that is together with all other
        differences, or ``before_change``: these are applied after it.
    :param on_failure: ``fail_fast`` when an object failed or is blocked, or
        ``wait_all``: first wait for the other objects.
    :param autoscaler_limits: ``keep`` them and refuse a scale of what an
        autoscaler manages, or ``adjust`` them, unless the object has an
        annotation.
    :param field_validation: whether an unknown field of a manifest, or a
        repeated variable, is an error (``strict``), or a warning (``warn``);
        the field is then left out, and the last variable counts.
    :param machine_heal_strategy: ``delete`` the machines that a heal
        replaces, or ``remediate``: annotate them for a MachineHealthCheck,
        unless the object that they belong to has an annotation.
    """

    dry_run: bool = True
    field_conflicts: str = conflict_strategy.FAIL
    stall_timeout: float = 300.0
    adopt: frozenset[ObjectRef] = frozenset()
    grace_seconds: int | None = None
    delete_foreign_objects: bool = False
    check_permissions: bool = True
    on_terminate: Mapping[Subject, bool] = dataclasses.field(
        default_factory=dict
    )
    on_terminate_default: Mapping[Subject, bool] = dataclasses.field(
        default_factory=dict
    )
    cleanup: frozenset[str] | None = None
    statefulset_claims: str = ""
    statefulset_claims_else: str = claims.DELETE
    remove_finalizers: frozenset[ObjectRef] = frozenset()
    on_failure: str = "fail_fast"
    recreate: frozenset[ObjectRef] = frozenset()
    retain: frozenset[ObjectRef] = frozenset()
    rollout: str = "allow"
    kubernetes_upgrade: str = "with_change"
    autoscaler_limits: str = autoscaling.KEEP
    machine_heal_strategy: str = "delete"
    transfer_from: Mapping[ObjectRef, str] = dataclasses.field(
        default_factory=dict
    )
    field_validation: str = field_validation.STRICT
    resend: bool = False

    def __post_init__(self) -> None:
        field_validation.is_lenient(self.field_validation)
        for key, values in _VALUES.items():
            value = getattr(self, key)
            if value not in values:
                expected = " or ".join(v for v in values if v)
                raise errors.RequestInvalid(
                    f"{key}: expected {expected}, got {value!r}"
                )


_VALUES: Mapping[str, tuple[str, ...]] = {
    "field_conflicts": conflict_strategy.STRATEGIES,
    "on_failure": ("fail_fast", "wait_all"),
    "statefulset_claims": ("", *claims.RETENTIONS),
    "statefulset_claims_else": ("", *claims.RETENTIONS),
    "rollout": ("allow", "refuse"),
    "kubernetes_upgrade": ("with_change", "before_change"),
    "autoscaler_limits": autoscaling.LIMIT_MODES,
    "machine_heal_strategy": ("delete", "remediate"),
}
"""By option, its values; an empty value means unset."""

DEFAULT = Options()
