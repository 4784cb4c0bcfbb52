"""Where objects of a kind have their number, as its definition says."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import contextlib
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import Path
from tacker_k8s_cr.planning import placing


def known(
    cluster: Cluster,
    registry: Registry,
    subresources: Mapping[GroupKind, Collection[str]],
    manifests: Iterable[Manifest] = (),
) -> Registry:
    """The registry with the paths of kinds that have a scale sub-resource.

    A kind that somebody has described has its path already.

    :param manifests: among which definitions are looked for first.
    """
    wanted = {
        kind
        for kind, found in subresources.items()
        if "scale" in found and registry[kind].replicas is None
    }
    if not wanted:
        return registry
    brought = {
        kind: manifest
        for manifest in manifests
        for kind in placing.defines([manifest]).values()
    }
    found = {}
    for kind in sorted(wanted):
        definition = brought.get(kind) or _served(cluster, kind)
        if path := _path(definition or {}):
            found[kind] = dataclasses.replace(registry[kind], replicas=path)
    return registry.extended(found)


def _served(cluster: Cluster, kind: GroupKind) -> Manifest | None:
    """The definition that the server has; None where it may not be read."""
    with contextlib.suppress(errors.Forbidden, errors.KindUnknown):
        plural = cluster.resource(kind).plural
        of = placing.DEFINITION
        name = f"{plural}.{kind.group}"
        return cluster.get(ObjectRef(of.group, of.kind, "", name))
    return None


def _path(definition: Manifest) -> Path | None:
    """Of its versions they are all alike, or the server converts them."""
    for version in reading.items(definition, ("spec", "versions")):
        text = reading.text(
            version, ("subresources", "scale", "specReplicasPath")
        )
        if text:
            return tuple(text.strip(".").split("."))
    return None
