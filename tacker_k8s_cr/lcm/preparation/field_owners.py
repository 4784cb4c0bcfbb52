"""Make our field manager the owner of fields without changing values.

A forced apply of a value that a field already has leaves the former manager
as a second owner. Our next apply with another value would then conflict.
"""

from __future__ import annotations

import logging

from tacker_k8s_cr.engine.conflicts import retry_on_conflict
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import ownership
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import live_values
from tacker_k8s_cr.plan.placement import PlacedManifest

LOG = logging.getLogger(__name__)

LABELS = (objects.INSTANCE, objects.VNF_INSTANCE)
"""Labels that every object of an instance gets."""


def own_alone(op: Session, ref: ObjectRef, uid: str) -> None:
    """Remove other managers' claims on the fields that we have applied.

    No value changes. The status and other subresources do not change, nor do
    fields that other managers apply.

    :param uid: of the object; a new one of the same name is ignored.
    :raises Conflict: other clients wrote the object during each attempt.
    """

    def claim() -> None:
        obj = op.cluster.get_metadata(ref)
        if obj is None or objects.uid(obj) != uid:
            return
        before = list(objects.field(obj, ("metadata", "managedFields"), ()))
        after = ownership.without_shared_fields(before, op.manager)
        if after == before:
            return
        body = {
            "uid": uid,
            "resourceVersion": obj["metadata"]["resourceVersion"],
            "managedFields": after,
        }
        op.ledger.guard()
        op.ledger.fenced_cluster.patch(ref, {"metadata": body}, op.manager)

    retry_on_conflict(claim)


def with_live_values(
    op: Session, item: PlacedManifest, obj: Manifest
) -> Manifest:
    """Return the manifest, with live values where they differ.

    The report and the log name the fields that differ.
    """
    if is_no_op(op, item.manifest, obj):
        return item.manifest
    manifest, paths = live_values.with_live_values(item.manifest, obj, LABELS)
    note = f"live value retained: {', '.join(paths)}"
    if not is_no_op(op, manifest, obj):
        note = f"{note}; the owners of its fields do not change"
    op.notes[item.ref] = (note,)
    LOG.warning("%s: %s: %s", op.instance, item.ref, note)
    return manifest


def is_no_op(op: Session, manifest: Manifest, obj: Manifest) -> bool:
    """Return whether a forced apply would change metadata at most."""
    try:
        predicted = op.cluster.apply(
            manifest,
            op.manager,
            uid=objects.uid(obj),
            force=True,
            dry_run=True,
        ).obj
    except errors.Rejected as error:
        LOG.info("%s: %s", op.instance, error)
        return False
    return ownership.desired_content(obj) == ownership.desired_content(
        predicted
    )


def apply_and_own(op: Session, manifest: Manifest, obj: Manifest) -> None:
    """Apply the manifest, so that only this instance owns its fields.

    If this would change the object, only the instance's labels are applied.
    """
    ref, uid = ObjectRef.of(manifest), objects.uid(obj)
    if not is_no_op(op, manifest, obj):
        manifest = _only_labels(manifest)
    op.ledger.guard()
    op.ledger.fenced_cluster.apply(manifest, op.manager, uid=uid, force=True)
    own_alone(op, ref, uid)
    LOG.info("%s: adopted", ref)


def _only_labels(manifest: Manifest) -> Manifest:
    """Return the manifest with only the name and our labels."""
    metadata = manifest["metadata"]
    labels = objects.labels(manifest)
    named = {k: metadata[k] for k in ("name", "namespace") if k in metadata}
    own_labels = {name: labels[name] for name in LABELS if name in labels}
    return {
        "apiVersion": manifest["apiVersion"],
        "kind": manifest["kind"],
        "metadata": {**named, "labels": own_labels},
    }
