"""Objects that an operation must not delete: other owners need them."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping

from tacker_k8s_cr.engine import delete
from tacker_k8s_cr.engine import retained_objects
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.state import other_instances


def find_shared(
    op: Session,
    refs: Collection[ObjectRef],
    manifests: Mapping[ObjectRef, Manifest],
) -> dict[ObjectRef, str]:
    """Return objects to delete that other instances share, and by whom.

    Their dependencies are included if they are to be deleted too.
    """
    found = find_retained(op, refs, manifests, {})
    op.notes.update({ref: (why,) for ref, why in found.items()})
    return found


def find_retained(
    op: Session,
    refs: Collection[ObjectRef],
    manifests: Mapping[ObjectRef, Manifest],
    choices: Mapping[ObjectRef, tuple[bool, str]],
) -> dict[ObjectRef, str]:
    """Return objects to retain: by choice, or because they are shared."""
    shared = {}
    if not op.options.delete_foreign_objects:
        shared = other_instances.shared_refs(
            op.cluster, op.instance, refs, op.record_namespace
        )
    shared_choices = {ref: (True, why) for ref, why in shared.items()}
    return retained_objects.find_retained(
        refs, manifests, {**choices, **shared_choices}
    )


def refuse_foreign_deletion(
    op: Session, deleted: Mapping[ObjectRef, str], *, begun: bool = False
) -> None:
    """Raise ForeignObjects if objects of other owners would be deleted too.

    :param begun: some of the objects have been deleted already.
    """
    if op.options.delete_foreign_objects:
        return
    entry = op.ledger.entry
    foreign = delete.find_foreign_dependents(
        op.cluster,
        deleted,
        op.instance,
        in_progress=begun,
        rules=entry.inventory.claim_rules if entry else (),
    )
    if foreign:
        raise errors.ForeignObjects(foreign)
