"""The grant request of a scale: the VNFCs to add or remove, by VDU."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
import uuid

from tacker import objects
from tacker.plugins.common import constants

from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.package import replica_counts


def replica_delta(
    vnfd: Vnfd, levels: Mapping[str, int], aspect: str, level: int
) -> dict[str, int]:
    """Return the added replicas of each VDU when an aspect has this level."""
    before = replica_counts.scaled_replicas(vnfd, levels)
    after = replica_counts.scaled_replicas(vnfd, {**levels, aspect: level})
    return {
        vdu: after[vdu] - before[vdu] for vdu in vnfd.aspects[aspect].steps
    }


def resources_to_add(delta: Mapping[str, int]) -> list[Any]:
    """Return a definition for each VNFC to add."""
    return [
        _definition(str(uuid.uuid4()), vdu)
        for vdu, number in delta.items()
        for _ in range(number)
    ]


def resources_to_remove(
    delta: Mapping[str, int], vnfc_resources: Iterable[Any]
) -> list[Any]:
    """Return a definition for each VNFC to delete.

    The controller selects the Pods of a VDU to delete; the grant is for
    their number, and lists the last of them.
    """
    by_vdu: dict[str, list[Any]] = {}
    for item in vnfc_resources:
        by_vdu.setdefault(item.vdu_id, []).append(item)
    return [
        _definition(item.id, vdu, _handle(item))
        for vdu, number in delta.items()
        if number < 0
        for item in by_vdu.get(vdu, [])[number:]
    ]


def _definition(id_: str, vdu: str, resource: Any = None) -> Any:
    return objects.ResourceDefinition(
        id=id_,
        type=constants.TYPE_COMPUTE,
        vdu_id=vdu,
        resource_template_id=vdu,
        resource=resource,
    )


def _handle(vnfc_resource: Any) -> Any:
    handle = vnfc_resource.compute_resource
    return objects.ResourceHandle(
        vim_connection_id=handle.vim_connection_id,
        resource_id=handle.resource_id,
    )
