"""An instantiation that finds all there already.

Tacker lets only an instance come here that is not instantiated for it: an
earlier try was done but for its end, a management script's for example.
This one may name another package, or another level.
"""

from __future__ import annotations

from collections.abc import Mapping
import logging
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr.applying import replicas
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.lcm import size as sizes
from tacker_k8s_cr.lcm.size import Size
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.report import Report

LOG = logging.getLogger(__name__)


def instantiated(
    cluster: Cluster,
    instance: str,
    package: Package,
    *,
    level: str,
    scale_levels: Mapping[str, int] | None,
    change: Mapping[str, Any],
    **wanted: Any,
) -> Report:
    """Bring the package in, at the numbers that the request asks for.

    :param change: what only the change of the package takes.
    :param wanted: what every operation takes.
    """
    asked = sizes.at_instantiate(package.vnfd, level, scale_levels)
    before = _recorded(cluster, instance, wanted).scale_levels
    report = lcm.change(
        cluster, instance, package, size=asked, **wanted, **change
    )
    # A change keeps the numbers of objects.
    _resize(cluster, instance, asked, before, **wanted)
    return report


def _recorded(
    cluster: Cluster, instance: str, wanted: Mapping[str, Any]
) -> Inventory:
    brief = cluster.until(wanted["deadline"])
    home = wanted.get("record_namespace") or wanted["namespace"]
    entry = record.read(brief, instance, home)
    if entry is None:
        raise errors.InstanceUnknown(instance, home)
    return entry.inventory


def _resize(
    cluster: Cluster,
    instance: str,
    size: Size,
    before: Mapping[str, int],
    **wanted: Any,
) -> None:
    """Set the numbers that differ from those of the size.

    :param before: the scale levels before the change.
    """
    inventory = _recorded(cluster, instance, wanted)
    if inventory.vnfd is None:
        return
    brief = cluster.until(wanted["deadline"])
    now = replicas.found(brief, wanted["registry"], inventory)
    other = {
        vdu
        for vdu, number in now.items()
        if number is not None and number != size.numbers.get(vdu, number)
    }
    scaled: set[str] = set()
    for aspect, level in size.levels.items():
        steps = inventory.vnfd.aspects[aspect].steps.keys()
        scaled |= steps
        if not other & steps:
            continue
        send = _set if before.get(aspect, 0) == level else lcm.scale
        send(cluster, instance, aspect=aspect, level=level, **wanted)
    fixed: dict[ObjectRef, int] = {
        inventory.vdus[vdu]: size.numbers[vdu] for vdu in other - scaled
    }
    if fixed:
        _set(cluster, instance, targets=fixed, **wanted)


def _set(cluster: Cluster, instance: str, **wanted: Any) -> None:
    """Set numbers that somebody else set, unless that is an autoscaler."""
    try:
        lcm.scale(cluster, instance, **wanted)
    except errors.NotScalable as error:
        LOG.warning("its number stays as it is: %s", error)
