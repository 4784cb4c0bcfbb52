"""Whose an object is, from nothing but its metadata."""

from __future__ import annotations

from collections.abc import Iterable
import contextlib
import datetime
from typing import Any

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Path


def applied_by(obj: Manifest, manager: str) -> bool:
    """Whether the manager has an Apply entry on the object."""
    return any(
        entry.get("manager") == manager and entry.get("operation") == "Apply"
        for entry in objects.field(obj, ("metadata", "managedFields"), ())
    )


def last_write_time(obj: Manifest) -> str:
    """Return the time of the last write to the object; empty if unknown."""
    entries = objects.field(obj, ("metadata", "managedFields"), ())
    return max((str(entry.get("time") or "") for entry in entries), default="")


def last_spec_write_time(obj: Manifest) -> str:
    """Return the time of the last write to the spec; empty if unknown."""
    return max(
        (
            str(entry.get("time") or "")
            for entry in objects.field(obj, ("metadata", "managedFields"), ())
            if "f:spec" in objects.field(entry, ("fieldsV1",), {})
        ),
        default="",
    )


REQUEST = datetime.timedelta(seconds=60)
"""For which an API server works on a request at most."""


def created_by_manager(
    obj: Manifest, manager: str, since: float = 0.0
) -> bool:
    """Whether the manager's apply made the object, and did not join it.

    The time of an Apply entry moves with what that manager changes only.
    The server takes it when it has read the request, and that of the object
    when it stores it, after all mutating webhooks: an entry that is older
    by no more than a request takes is of the apply that made the object.
    Times are in whole seconds: with the same time it is, too, unless
    another client may have created the object within that second.

    :param since: seconds in which the apply was sent more than once. Where
        a manifest has empty mappings, which a server does not keep, each
        time moves the entry.
    """
    created = _parse_time(
        objects.field(obj, ("metadata", "creationTimestamp"))
    )
    if created is None:
        return False
    entries = [
        (entry, _parse_time(entry.get("time")))
        for entry in objects.field(obj, ("metadata", "managedFields"), ())
        if not entry.get("subresource")
    ]
    times = [
        time
        for entry, time in entries
        if time is not None and _is_apply(entry, manager)
    ]
    if any(created - REQUEST <= time < created for time in times):
        return True
    last = created
    if since:
        last += datetime.timedelta(seconds=since + 1)
    own = [entry for entry, _ in entries if _is_apply(entry, manager)]
    return any(created <= time <= last for time in times) and all(
        _is_apply(entry, manager)
        or _has_only_controller_fields(entry)
        or _has_only_added_fields(entry, own)
        for entry, time in entries
        if time is not None and time <= last
    )


def _is_apply(entry: Manifest, manager: str) -> bool:
    return (
        entry.get("manager") == manager and entry.get("operation") == "Apply"
    )


def _parse_time(text: Any) -> datetime.datetime | None:
    with contextlib.suppress(AttributeError, TypeError, ValueError):
        # Python 3.10 does not read the Z.
        moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        return moment if moment.tzinfo else None
    return None


def _has_only_controller_fields(entry: Manifest) -> bool:
    """Whether an entry has only what controllers write on foreign objects."""
    owned = objects.field(entry, ("fieldsV1",), {})
    return set(owned) <= {"f:metadata", "f:status"}


def _has_only_added_fields(
    entry: Manifest, own_fields: Iterable[Manifest]
) -> bool:
    """Whether an entry has only what others may add to our object.

    A controller that fills in a field soon does so within the second. Who
    makes an object by a create owns its sections as such, as the server
    writes with a dot or with nothing inside, or fields that our manifest has
    as well.
    """
    if entry.get("operation") != "Update":
        return False
    fields = objects.field(entry, ("fieldsV1",), {})
    if any(not section or "." in section for section in fields.values()):
        return False
    return not any(
        _overlap(fields, objects.field(own, ("fieldsV1",), {}))
        for own in own_fields
    )


def _overlap(one: Manifest, other: Manifest) -> bool:
    """Whether two sets of fields have one that is in both."""
    return any(
        not one[key] or not other[key] or _overlap(one[key], other[key])
        for key in one.keys() & other.keys()
        if key != "."
    )


def rename_manager(
    entries: Iterable[Manifest], before: str, after: str
) -> list[Manifest]:
    """Entries of managed fields, those of one manager as another's.

    Where the other has such an entry already, its own stays, and the fields
    of the first have no manager.
    """
    entries = list(entries)
    known = {_sort(entry) for entry in entries if entry["manager"] == after}
    return [
        entry if entry["manager"] != before else {**entry, "manager": after}
        for entry in entries
        if entry["manager"] != before or _sort(entry) not in known
    ]


def _sort(entry: Manifest) -> tuple[Any, ...]:
    return tuple(map(entry.get, ("operation", "apiVersion", "subresource")))


def without_shared_fields(
    entries: Iterable[Manifest], manager: str
) -> list[Manifest]:
    """Entries of managed fields; what the manager applied is in its own only.

    Entries of subresources and of other managers' applies stay as they are.
    """
    entries = list(entries)
    own: Manifest = {}
    for entry in entries:
        if _is_apply(entry, manager) and not entry.get("subresource"):
            own = objects.field(entry, ("fieldsV1",), {})
    found = []
    for entry in entries:
        if entry.get("operation") == "Update" and not entry.get("subresource"):
            fields = objects.field(entry, ("fieldsV1",), {})
            remaining = _without(fields, own)
            if remaining != fields:
                entry = {**entry, "fieldsV1": remaining}
            if not remaining:
                continue
        found.append(entry)
    return found


def _without(fields: Manifest, others: Manifest) -> dict[str, Any]:
    """A set of fields without those that are in another set.

    A section of which nothing but itself (written ``.``) is left goes too.
    """
    remaining: dict[str, Any] = {}
    for key, below in fields.items():
        if key not in others:
            remaining[key] = below
        elif below and others[key] and (rest := _without(below, others[key])):
            remaining[key] = rest
    return remaining if remaining.keys() - {"."} else {}


def has_other_managers(obj: Manifest, manager: str) -> bool:
    """Whether others than the manager have set more than metadata of it."""
    return any(
        entry.get("manager") != manager
        and not entry.get("subresource")
        and not _has_only_controller_fields(entry)
        for entry in objects.field(obj, ("metadata", "managedFields"), ())
    )


def is_field_manager(
    obj: Manifest, manager: str, path: Path, operation: str = "Apply"
) -> bool:
    """Whether the manager's entry has the field at the path.

    :param path: an item of a list is there as ``k:{"name":"a"}``.
    :param operation: of the entry; a manager may have one of each.
    """
    wanted = tuple(key if key.startswith("k:") else f"f:{key}" for key in path)
    return any(
        entry.get("manager") == manager
        and entry.get("operation") == operation
        and not entry.get("subresource")
        and objects.field(entry.get("fieldsV1"), wanted) is not None
        for entry in objects.field(obj, ("metadata", "managedFields"), ())
    )


def has_instance_label(obj: Manifest, instance: str) -> bool:
    """Whether an object is the instance's by its looks.

    Needed where a crash came between a write and the journal. The label
    alone proves nothing, since operators copy labels to what they make; nor
    does our manager's entry, which is also on what our apply only met.
    """
    return objects.labels(obj).get(
        objects.INSTANCE
    ) == instance and created_by_manager(obj, objects.MANAGER + instance)


def foreign_owner(obj: Manifest) -> str:
    """Describe the owner of an object that is not this instance's."""
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
        return f"the field manager {', '.join(managers)}"
    return "another client"


def equal_ignoring_ownership(one: Manifest, other: Manifest) -> bool:
    """Whether two views of an object differ in nothing but whose it is.

    Left out is what any write changes, and the labels of an instance.
    """
    return _without_ownership(one) == _without_ownership(other)


def desired_content(obj: Manifest) -> Manifest:
    """What is asked of an object: without its metadata and its status.

    Controllers may have written these since the object was read.
    """
    apart = ("metadata", "status")
    return {key: value for key, value in obj.items() if key not in apart}


def _without_ownership(obj: Manifest) -> Manifest:
    metadata = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in ("managedFields", "resourceVersion", "generation")
    }
    labels = dict(metadata.get("labels") or {})
    for name in (objects.INSTANCE, objects.VNF_INSTANCE):
        labels.pop(name, None)
    metadata["labels"] = labels
    return {**obj, "metadata": metadata}
