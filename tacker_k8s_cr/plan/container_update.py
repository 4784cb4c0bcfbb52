"""What Tacker's container update scripts change, as manifests.

A VNF package may carry the script ``container_update_mgmt`` (v1) or
``container_update_mgmt_v2``. When the descriptor of an instance is modified,
it sets the images of containers in Pods, Deployments, ReplicaSets and
DaemonSets, and replaces ConfigMaps and Secrets, as the new package specifies.
It changes nothing else, and it does not call the infrastructure driver.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.plan import placement

POD: Path = ("spec", "containers")
TEMPLATE: Path = ("spec", "template", "spec", "containers")

CONTAINERS: Mapping[GroupKind, Path] = {
    GroupKind("", "Pod"): POD,
    GroupKind("apps", "Deployment"): TEMPLATE,
    GroupKind("apps", "ReplicaSet"): TEMPLATE,
    GroupKind("apps", "DaemonSet"): TEMPLATE,
}
"""Kinds whose images the scripts set, with the path of their containers."""

REPLACED = frozenset([GroupKind("", "ConfigMap"), GroupKind("", "Secret")])
"""Kinds that the scripts replace as a whole."""


def updated_manifest(former: Manifest, new: Manifest) -> Manifest | None:
    """Return the manifest after the script ran; None if it is unchanged.

    A ConfigMap or Secret is replaced even if its content is the same, and
    loses the labels that are not in the package.

    :param former: the manifest before.
    :param new: the manifest in the new package.
    """
    kind = GroupKind.of(former)
    if kind in REPLACED:
        return new
    if kind not in CONTAINERS:
        return None
    path = CONTAINERS[kind]
    images = images_of(new)
    before = objects.field(former, path, [])
    after = [
        {**container, "image": images[name]}
        if (name := container.get("name")) in images
        else container
        for container in before
    ]
    if after == before:
        return None
    return placement.set_field(former, path, after)


def is_updated(obj: Manifest, manifest: Manifest) -> bool:
    """Return whether the script has applied this manifest to an object."""
    kind = GroupKind.of(manifest)
    if kind in REPLACED:
        return _content(obj) == _content(manifest)
    return images_of(obj) == images_of(manifest)


def images_of(manifest: Manifest) -> dict[str, str]:
    """Return by container name its image; empty for a kind without any."""
    path = CONTAINERS.get(GroupKind.of(manifest), TEMPLATE)
    containers = objects.field(manifest, path, [])
    return {
        container["name"]: container["image"]
        for container in containers
        if isinstance(container, Mapping)
        and "name" in container
        and "image" in container
    }


def _content(obj: Manifest) -> dict[str, Any]:
    """Return the content of a ConfigMap or Secret in one notation."""
    data = dict(objects.field(obj, ("data",), {}))
    for key, text in objects.field(obj, ("stringData",), {}).items():
        data[key] = base64.b64encode(str(text).encode()).decode()
    return {
        "data": data,
        "binaryData": dict(objects.field(obj, ("binaryData",), {})),
    }
