"""Objects that an object refers to and that do not exist."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

MAX_REFERENCES = 20
"""Maximum number of references read per object; each costs a request."""

SECRET = GroupKind("", "Secret")
CONFIG_MAP = GroupKind("", "ConfigMap")

_BY_KEY = (
    ("secretref", SECRET),
    ("configmapref", CONFIG_MAP),
    ("identityref", SECRET),
)
"""Suffixes of the keys of references without a kind."""


def find_missing(cluster: Cluster, obj: Manifest) -> Iterator[ObjectRef]:
    """Yield objects that the spec refers to and that do not exist."""
    references = dict.fromkeys(references_of(obj))
    for ref in list(references)[:MAX_REFERENCES]:
        if _is_missing(cluster, ref):
            yield ref


def _is_missing(cluster: Cluster, ref: ObjectRef) -> bool:
    """Whether it is known not to exist."""
    try:
        resource = cluster.resource(ref.group_kind)
        if not resource.namespaced:
            ref = ObjectRef(ref.group, ref.kind, "", ref.name)
        return cluster.get_metadata(ref) is None
    except errors.KindNotServed:
        return bool(ref.group)
    except errors.ClusterError:
        return False


def references_of(obj: Manifest) -> Iterator[ObjectRef]:
    """Yield the references in an object's spec that can be determined."""
    namespace = str(objects.field(obj, ("metadata", "namespace"), ""))
    yield from _walk(obj.get("spec"), "", namespace)


def _walk(value: Any, key: str, namespace: str) -> Iterator[ObjectRef]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item, key, namespace)
    if not isinstance(value, Mapping):
        return
    if ref := _reference(value, key, namespace):
        yield ref
    for inner, item in value.items():
        if inner == "secretName" and isinstance(item, str) and item:
            yield ObjectRef("", "Secret", namespace, item)
        else:
            yield from _walk(item, inner, namespace)


def _reference(
    value: Mapping[str, Any], key: str, namespace: str
) -> ObjectRef | None:
    name, kind = value.get("name"), value.get("kind")
    if not isinstance(name, str) or not name:
        return None
    ref_namespace = value.get("namespace")
    ref_namespace = (
        ref_namespace
        if isinstance(ref_namespace, str) and ref_namespace
        else namespace
    )
    if isinstance(kind, str) and kind:
        group = contract.group_of(value)
        if not group and not ("apiVersion" in value or "apiGroup" in value):
            group = str(value.get("group") or "")
            if not group and kind not in ("Secret", "ConfigMap"):
                return None
        return ObjectRef(group, kind, ref_namespace, name)
    for suffix, group_kind in _BY_KEY:
        if key.lower().endswith(suffix):
            return ObjectRef(
                group_kind.group, group_kind.kind, ref_namespace, name
            )
    return None
