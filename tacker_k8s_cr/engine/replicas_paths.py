"""Paths of the replica count of a kind, from its CustomResourceDefinition."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import contextlib
import dataclasses

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.plan import placement


def with_scale_paths(
    cluster: Cluster,
    registry: Registry,
    subresources: Mapping[GroupKind, Collection[str]],
    manifests: Iterable[Manifest] = (),
) -> Registry:
    """Return the registry with the paths of kinds with a scale sub-resource.

    A kind that a handler or the request describes already has its path.

    :param manifests: searched for definitions before the server is read.
    """
    unresolved = {
        kind
        for kind, handlers in subresources.items()
        if "scale" in handlers and registry[kind].replicas is None
    }
    if not unresolved:
        return registry
    packaged = {
        kind: manifest
        for manifest in manifests
        for kind in placement.kinds_by_crd([manifest]).values()
    }
    handlers = {}
    for kind in sorted(unresolved):
        definition = packaged.get(kind) or _read_crd(cluster, kind)
        if path := _scale_path(definition or {}):
            handlers[kind] = dataclasses.replace(registry[kind], replicas=path)
    return registry.with_handlers(handlers)


def _read_crd(cluster: Cluster, kind: GroupKind) -> Manifest | None:
    """Return the definition on the server, or None if it may not be read."""
    with contextlib.suppress(errors.Forbidden, errors.KindNotServed):
        plural = cluster.resource(kind).plural
        of = placement.DEFINITION
        name = f"{plural}.{kind.group}"
        return cluster.get(ObjectRef(of.group, of.kind, "", name))
    return None


def _scale_path(definition: Manifest) -> Path | None:
    """Return the path of any version: they are equal, or converted."""
    for version in fields.mappings(definition, ("spec", "versions")):
        text = fields.text(
            version, ("subresources", "scale", "specReplicasPath")
        )
        if text:
            return tuple(text.strip(".").split("."))
    return None
