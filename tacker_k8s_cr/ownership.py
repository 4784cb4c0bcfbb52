"""Whose an object is, from nothing but its metadata."""

from __future__ import annotations

from tacker_k8s_cr import objects
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import Path


def applied_by(obj: Manifest, manager: str) -> bool:
    """Whether the manager has an Apply entry on the object."""
    return any(
        entry.get("manager") == manager and entry.get("operation") == "Apply"
        for entry in objects.field(obj, ("metadata", "managedFields"), ())
    )


def made_by(obj: Manifest, manager: str) -> bool:
    """Whether the manager's apply made the object, and did not join it.

    The time of an Apply entry moves with what that manager changes only,
    so that of an apply that made the object, and no other since, is the
    object's own. Times are in whole seconds: where somebody else wrote more
    than metadata and status within that second, it may be theirs, and is
    not taken for ours.
    """
    created = objects.field(obj, ("metadata", "creationTimestamp"))
    if created is None:
        return False
    at_once = [
        entry
        for entry in objects.field(obj, ("metadata", "managedFields"), ())
        if entry.get("time") == created and not entry.get("subresource")
    ]
    ours = [
        entry.get("manager") == manager and entry.get("operation") == "Apply"
        for entry in at_once
    ]
    return any(ours) and all(
        mine or _only_tended(entry)
        for mine, entry in zip(ours, at_once, strict=True)
    )


def _only_tended(entry: Manifest) -> bool:
    """Whether an entry has what controllers write on objects of others."""
    owned = objects.field(entry, ("fieldsV1",), {})
    return set(owned) <= {"f:metadata", "f:status"}


def owns(obj: Manifest, manager: str, path: Path) -> bool:
    """Whether the manager's Apply entry has the field at the path."""
    wanted = tuple(f"f:{key}" for key in path)
    return any(
        entry.get("manager") == manager
        and entry.get("operation") == "Apply"
        and not entry.get("subresource")
        and objects.field(entry.get("fieldsV1"), wanted) is not None
        for entry in objects.field(obj, ("metadata", "managedFields"), ())
    )


def ours(obj: Manifest, instance: str) -> bool:
    """Whether an object is the instance's by its looks.

    Needed where a crash came between a write and the journal. The label
    alone proves nothing, since operators copy labels to what they make; nor
    does our manager's entry, which is also on what our apply only met.
    """
    return objects.labels(obj).get(objects.INSTANCE) == instance and made_by(
        obj, objects.MANAGER + instance
    )


def owner(obj: Manifest) -> str:
    """To whom an object belongs that is not ours, in words."""
    labels = objects.labels(obj)
    annotations = objects.field(obj, ("metadata", "annotations"), {})
    if other := labels.get(objects.INSTANCE):
        return f"the instance {other}"
    if release := annotations.get("meta.helm.sh/release-name"):
        return f"the Helm release {release}"
    for reference in objects.field(obj, ("metadata", "ownerReferences"), ()):
        if reference.get("controller"):
            return f"{reference.get('kind')} {reference.get('name')}"
    if tool := labels.get("app.kubernetes.io/managed-by"):
        return f"{tool} (label app.kubernetes.io/managed-by)"
    managers = sorted(
        {
            str(entry.get("manager"))
            for entry in objects.field(obj, ("metadata", "managedFields"), ())
        }
    )
    if managers:
        return f"whoever manages it as {', '.join(managers)}"
    return "somebody else"


def same(one: Manifest, other: Manifest) -> bool:
    """Whether two views of an object differ in nothing but whose it is.

    Left out is what any write changes, and our own label.
    """
    return _bare(one) == _bare(other)


def _bare(obj: Manifest) -> Manifest:
    metadata = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in ("managedFields", "resourceVersion", "generation")
    }
    labels = dict(metadata.get("labels") or {})
    labels.pop(objects.INSTANCE, None)
    metadata["labels"] = labels
    return {**obj, "metadata": metadata}
