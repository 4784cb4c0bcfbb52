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
"""Kinds whose images the scripts set, and where their containers are."""

REPLACED = frozenset([GroupKind("", "ConfigMap"), GroupKind("", "Secret")])
"""Kinds that the scripts replace as a whole."""


def updated(former: Manifest, new: Manifest) -> Manifest | None:
    """The manifest that an object has after the script; None if untouched.

    A ConfigMap or Secret is replaced although nothing in it is new, and
    loses the labels that the package does not give it.

    :param former: as it was before.
    :param new: as the new package has it.
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


def is_shown(obj: Manifest, manifest: Manifest) -> bool:
    """Whether an object is as the script leaves it with this manifest."""
    kind = GroupKind.of(manifest)
    if kind in REPLACED:
        return _content(obj) == _content(manifest)
    return images_of(obj) == images_of(manifest)


def images_of(manifest: Manifest) -> dict[str, str]:
    """By name of a container, its image; empty for a kind without any."""
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
    """What a ConfigMap or Secret holds, however its manifest spells it."""
    data = dict(objects.field(obj, ("data",), {}))
    for key, text in objects.field(obj, ("stringData",), {}).items():
        data[key] = base64.b64encode(str(text).encode()).decode()
    return {
        "data": data,
        "binaryData": dict(objects.field(obj, ("binaryData",), {})),
    }
