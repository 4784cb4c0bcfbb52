"""The objects of an instance's VDUs, as Tacker's v2 API stores them.

Tacker's own driver keeps whole manifests in the metadata of an instance, under
``vdu_reses``. They may contain secrets and are returned by the API, so only
what Tacker's container update script and its users read is kept here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.model.objects import field
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.inventory import Inventory

_CONTAINERS: tuple[Path, ...] = (
    ("spec", "containers"),
    ("spec", "template", "spec", "containers"),
    ("spec", "jobTemplate", "spec", "template", "spec", "containers"),
)


def of_inventory(inventory: Inventory) -> dict[str, Any]:
    """Return by VDU the kind, metadata, and names and images of containers.

    The metadata have the name, the namespace and the labels of the object.
    Containers are at the path of the kind.
    """
    manifests = manifest_annotations.manifests(inventory)
    return {
        vdu: _described(manifests[owner])
        for vdu, ref in inventory.vdus.items()
        if (owner := topology_replicas.cluster_ref(ref)) in manifests
    }


def _described(manifest: Manifest) -> Manifest:
    metadata = manifest["metadata"]
    shown: Manifest = {
        "kind": manifest["kind"],
        "metadata": {
            key: metadata[key]
            for key in ("name", "namespace", "labels")
            if metadata.get(key)
        },
    }
    for path in _CONTAINERS:
        containers = field(manifest, path)
        if isinstance(containers, list | tuple):
            listed = [_named(container) for container in containers]
            shown = placement.set_field(shown, path, listed)
    return shown


def _named(container: Any) -> dict[str, Any]:
    if not isinstance(container, Mapping):
        return {}
    return {k: container[k] for k in ("name", "image") if k in container}
