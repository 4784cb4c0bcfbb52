"""Apply one object, unless it has another owner."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import logging

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import ownership
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan import conflict_strategy
from tacker_k8s_cr.plan.steps import Apply

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class ApplyResult:
    """An object after its apply, and the effect of the apply.

    :param foreign_fields: by path, the manager of a field that was not
        changed.
    """

    ref: ObjectRef
    obj: Manifest
    action: Action
    foreign_fields: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def note(self) -> str:
        """Return the fields left to other managers as a text, or nothing."""
        return "; ".join(
            f"field {path} is left to {manager}"
            for path, manager in sorted(self.foreign_fields.items())
        )


def apply_object(
    cluster: Cluster, step: Apply, manager: str, default_strategy: str
) -> ApplyResult:
    if step.terminating:
        _require_not_terminating(step, cluster.get_metadata(step.ref))
    # A new object must never overwrite fields of an existing one.
    strategy = (
        conflict_strategy.strategy_for(step.manifest, default_strategy)
        if step.uid
        else conflict_strategy.FAIL
    )
    foreign_fields: dict[str, str] = {}
    try:
        result = conflict_strategy.apply_with_strategy(
            lambda manifest, force: cluster.apply(
                manifest, manager, uid=step.uid, force=force
            ),
            step.manifest,
            strategy,
            ".".join(step.replicas_path),
            foreign_fields.update,
        )
    except errors.KindNotServed as error:
        # All kinds of a package were served, or defined by it, when it was
        # validated: one that is not served for a moment comes back.
        raise errors.DependencyMissing(step.ref, error.sentence()) from error
    except errors.FieldConflict as error:
        existing = None if step.uid else cluster.get_metadata(step.ref)
        if existing is None:
            raise
        _require_not_terminating(step, existing)
        raise errors.OwnedByOther(
            {step.ref: ownership.foreign_owner(existing)}
        ) from error
    if result.created:
        return ApplyResult(step.ref, result.obj, Action.CREATED)
    if not step.uid:
        _require_not_just_created(step, result.obj, manager)
        existing = release_fields(cluster, step.manifest, manager)
        _require_not_terminating(step, existing)
        raise errors.OwnedByOther(
            {step.ref: ownership.foreign_owner(existing)}
        )
    version = objects.field(result.obj, ("metadata", "resourceVersion"))
    unchanged = version == step.resource_version
    action = Action.UNCHANGED if unchanged else Action.CONFIGURED
    written = ApplyResult(step.ref, result.obj, action, foreign_fields)
    if foreign_fields:
        LOG.info("%s: %s", step.ref, written.note)
    return written


def _require_not_terminating(step: Apply, obj: Manifest | None) -> None:
    """Raise DependencyMissing while an object of that name is deleted."""
    if objects.field(obj, ("metadata", "deletionTimestamp")):
        raise errors.DependencyMissing(
            step.ref, "an object of that name is still being deleted"
        )


def _require_not_just_created(
    step: Apply, obj: Manifest, manager: str
) -> None:
    """Raise if another run of this operation created it just now."""
    if ownership.created_by_manager(obj, manager):
        instance = manager.removeprefix(objects.MANAGER)
        raise errors.OperationInProgress(
            instance, f"another process, which has just created {step.ref}"
        )


def release_fields(
    cluster: Cluster, manifest: Manifest, manager: str, uid: str = ""
) -> Manifest:
    """Undo an apply that found another client's object; return the object.

    Applying the bare object under this field manager removes the fields that
    only it has set; where nothing was forced, all others belonged to other
    managers before and still do (the server's rule for fields left out of an
    apply).
    """
    metadata = manifest["metadata"]
    bare = {
        "apiVersion": manifest["apiVersion"],
        "kind": manifest["kind"],
        "metadata": {
            key: metadata[key]
            for key in ("name", "namespace")
            if key in metadata
        },
    }
    return cluster.apply(bare, manager, uid=uid).obj
