"""The request of each verb, and what its answer shows: pure."""

from __future__ import annotations

from collections.abc import Mapping
import functools
import json
from typing import Any

from tacker_k8s_cr import ownership
from tacker_k8s_cr.cluster import paths
from tacker_k8s_cr.cluster.answers import APPLY
from tacker_k8s_cr.cluster.answers import Answer
from tacker_k8s_cr.cluster.answers import Request
from tacker_k8s_cr.errors import Rejected
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import Resource
from tacker_k8s_cr.objects import field

JSON = "application/json"
METADATA = (
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
    "application/json"
)
_MERGE = "application/merge-patch+json"


def get(ref: ObjectRef, resource: Resource, accept: str = JSON) -> Request:
    return Request(
        "get",
        "GET",
        paths.member(resource, ref.namespace, ref.name),
        paths.spoken(resource),
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
        # The server would pass over it, and the object be another than the
        # one that was meant.
        kind = ref.group_kind
        why = f"{kind} has no namespaces; expected, it is {kind}:Cluster"
        raise Rejected(ref, 400, "BadRequest", why)
    if uid:
        metadata = {**manifest["metadata"], "uid": uid}
        manifest = {**manifest, "metadata": metadata}
    path = _member(resource, ref) + _applying(manager, force, dry_run)
    return _write("patch", "PATCH", path, ref, resource, manifest, APPLY)


@functools.lru_cache(maxsize=64)
def _applying(manager: str, force: bool, dry_run: bool) -> str:
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


def has_made(answer: Answer, manager: str, uid: str) -> bool:
    """Whether an apply, by its answer, has made the object.

    :param uid: with which it was sent; there was an object then.
    """
    if answer.code == 201 or uid or not answer.repeated:
        return answer.code == 201
    # The first attempt, whose answer was lost, may have made it.
    return ownership.made_by(answer.body, manager, answer.repeated)


def create(manifest: Manifest, resource: Resource, manager: str) -> Request:
    _member(resource, ObjectRef.of(manifest))
    return submit(manifest, resource, manager)


def submit(manifest: Manifest, resource: Resource, manager: str) -> Request:
    """A create of an object that need not have a name."""
    ref = ObjectRef.of(manifest)
    path = paths.query(
        paths.collection(resource, ref.namespace), _strictly(manager)
    )
    return _write("create", "POST", path, ref, resource, manifest)


def replace(manifest: Manifest, resource: Resource, manager: str) -> Request:
    ref = ObjectRef.of(manifest)
    path = paths.query(_member(resource, ref), _strictly(manager))
    return _write("update", "PUT", path, ref, resource, manifest)


def patch(
    ref: ObjectRef,
    resource: Resource,
    body: Mapping[str, Any],
    manager: str,
    subresource: str,
) -> Request:
    path = paths.query(
        _member(resource, ref, subresource), {"fieldManager": manager}
    )
    return _write(
        "patch", "PATCH", path, ref, resource, body, _MERGE, subresource
    )


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
    path = _member(resource, ref)
    return _write("delete", "DELETE", path, ref, resource, options)


def goes_on(obj: Manifest) -> bool:
    """Whether what a delete answered is an object that still exists.

    Of most kinds the server answers a Status when it removed the object
    at once, of some the object as it was.
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


def holds(live: Any, sent: Any) -> bool:
    """Whether all that was sent is in the live object.

    Its resourceVersion is left out: it is the one that was replaced.
    """
    if isinstance(sent, Mapping):
        return isinstance(live, Mapping) and all(
            holds(live.get(key), value)
            for key, value in sent.items()
            if key not in ("resourceVersion", "managedFields")
        )
    return bool(live == sent) or (not sent and not live)


def _member(resource: Resource, ref: ObjectRef, subresource: str = "") -> str:
    if resource.namespaced and not ref.namespace:
        # Without one the path would be that of no object at all.
        why = "a namespace is required"
        raise Rejected(ref, 400, "BadRequest", why)
    namespace = ref.namespace if resource.namespaced else ""
    return paths.member(resource, namespace, ref.name, subresource)


def _strictly(manager: str) -> dict[str, str | int]:
    return {"fieldManager": manager, "fieldValidation": "Strict"}


def _write(
    verb: str,
    method: str,
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
        method,
        path,
        paths.spoken(resource, subresource),
        ref.namespace,
        ref,
        text.encode(),
        content_type,
    )


def _plain(value: Any) -> Any:
    """Mappings that are no dictionaries, such as a read-only view."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


# ``json.dumps`` would make one for each request.
_ENCODER = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), default=_plain
)
