"""Build the request of each verb, and interpret its response: pure."""

from __future__ import annotations

from collections.abc import Mapping
import functools
import json
from typing import Any

from tacker_k8s_cr.kube import paths
from tacker_k8s_cr.kube.http.http_model import APPLY
from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.http_model import Response
from tacker_k8s_cr.model import ownership
from tacker_k8s_cr.model.errors import Rejected
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Resource
from tacker_k8s_cr.model.objects import field

JSON = "application/json"
METADATA = (
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
    "application/json"
)
_MERGE = "application/merge-patch+json"
_METHODS = {
    "create": "POST",
    "delete": "DELETE",
    "patch": "PATCH",
    "update": "PUT",
}
"""The HTTP methods of the verbs that write."""


def get(ref: ObjectRef, resource: Resource, accept: str = JSON) -> Request:
    return Request(
        "get",
        "GET",
        paths.object_path(resource, ref.namespace, ref.name),
        paths.resource_name(resource),
        ref.namespace,
        ref,
        accept=accept,
    )


def apply(
    manifest: Manifest,
    resource: Resource,
    manager: str,
    *,
    uid: str,
    force: bool,
    dry_run: bool,
) -> Request:
    ref = ObjectRef.of(manifest)
    if ref.namespace and not resource.namespaced:
        # The server would ignore it, and the object would be another than
        # the intended one.
        kind = ref.group_kind
        why = f"{kind} has no namespaces; expected, it is {kind}:Cluster"
        raise Rejected(ref, 400, "BadRequest", why)
    if uid:
        metadata = {**manifest["metadata"], "uid": uid}
        manifest = {**manifest, "metadata": metadata}
    path = _object_path(resource, ref) + _apply_query(manager, force, dry_run)
    return _write("patch", path, ref, resource, manifest, APPLY)


@functools.lru_cache(maxsize=64)
def _apply_query(manager: str, force: bool, dry_run: bool) -> str:
    """Return the query of an apply, cached because many applies share it."""
    return paths.query(
        "",
        {
            "fieldManager": manager,
            "force": "true" if force else "",
            "dryRun": "All" if dry_run else "",
            "fieldValidation": "Strict",
        },
    )


def was_created(answer: Response, manager: str, uid: str) -> bool:
    """Whether an apply, according to its response, created the object.

    :param uid: the UID that was sent; then the object existed.
    """
    if answer.code == 201 or uid or not answer.repeated:
        return answer.code == 201
    # An earlier attempt, whose response was lost, may have created it.
    return ownership.created_by_manager(answer.body, manager, answer.repeated)


def create(manifest: Manifest, resource: Resource, manager: str) -> Request:
    _object_path(resource, ObjectRef.of(manifest))
    return submit(manifest, resource, manager)


def submit(manifest: Manifest, resource: Resource, manager: str) -> Request:
    """Return a create of an object that may have no name."""
    ref = ObjectRef.of(manifest)
    path = paths.query(
        paths.collection_path(resource, ref.namespace), _strict_query(manager)
    )
    return _write("create", path, ref, resource, manifest)


def replace(manifest: Manifest, resource: Resource, manager: str) -> Request:
    ref = ObjectRef.of(manifest)
    path = paths.query(_object_path(resource, ref), _strict_query(manager))
    return _write("update", path, ref, resource, manifest)


def patch(
    ref: ObjectRef,
    resource: Resource,
    body: Mapping[str, Any],
    manager: str,
    subresource: str,
) -> Request:
    path = paths.query(
        _object_path(resource, ref, subresource), {"fieldManager": manager}
    )
    return _write("patch", path, ref, resource, body, _MERGE, subresource)


def delete(
    ref: ObjectRef,
    resource: Resource,
    uid: str,
    grace_seconds: int | None,
    propagation: str,
) -> Request:
    options: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": propagation,
        "preconditions": {"uid": uid},
    }
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    path = _object_path(resource, ref)
    return _write("delete", path, ref, resource, options)


def still_exists(obj: Manifest) -> bool:
    """Whether the response to a delete is an object that still exists.

    For most kinds the server returns a Status when it removed the object
    at once, for some the former object.
    """
    if obj.get("kind") == "Status":
        return False
    if not field(obj, ("metadata", "deletionTimestamp")):
        return False
    return bool(
        field(obj, ("metadata", "finalizers"))
        or field(obj, ("spec", "finalizers"))
        or field(obj, ("metadata", "deletionGracePeriodSeconds"), 0)
    )


def contains(live: Any, sent: Any) -> bool:
    """Whether all that was sent is in the live object.

    Its resourceVersion is left out: it is the one that was replaced.
    """
    if isinstance(sent, Mapping):
        return isinstance(live, Mapping) and all(
            contains(live.get(key), value)
            for key, value in sent.items()
            if key not in ("resourceVersion", "managedFields")
        )
    return bool(live == sent) or (not sent and not live)


def _object_path(
    resource: Resource, ref: ObjectRef, subresource: str = ""
) -> str:
    if resource.namespaced and not ref.namespace:
        # Without one the path would be that of no object at all.
        why = "a namespace is required"
        raise Rejected(ref, 400, "BadRequest", why)
    namespace = ref.namespace if resource.namespaced else ""
    return paths.object_path(resource, namespace, ref.name, subresource)


def _strict_query(manager: str) -> dict[str, str | int]:
    return {"fieldManager": manager, "fieldValidation": "Strict"}


def _write(
    verb: str,
    path: str,
    ref: ObjectRef,
    resource: Resource,
    body: Mapping[str, Any],
    content_type: str = JSON,
    subresource: str = "",
) -> Request:
    text = _ENCODER.encode(body)
    return Request(
        verb,
        _METHODS[verb],
        path,
        paths.resource_name(resource, subresource),
        ref.namespace,
        ref,
        text.encode(),
        content_type,
    )


def _plain(value: Any) -> Any:
    """Return a dictionary for another mapping, such as a read-only view."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


# ``json.dumps`` would create one for each request.
_ENCODER = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), default=_plain
)
