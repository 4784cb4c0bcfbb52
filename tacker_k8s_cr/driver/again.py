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
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package import numbers
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
    asked = _asked(package, level, scale_levels)
    report = lcm.change(cluster, instance, package, **wanted, **change)
    # A change keeps numbers.
    _numbers(cluster, instance, package, *asked, **wanted)
    return report


def _asked(
    package: Package, level: str, scale_levels: Mapping[str, int] | None
) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """By aspect its scale level, and by VDU its number."""
    if package.vnfd is None:
        return {}, {}
    if scale_levels:
        return scale_levels, numbers.replicas(package.vnfd, scale_levels)
    return numbers.at_level(package.vnfd, level)


def _numbers(
    cluster: Cluster,
    instance: str,
    package: Package,
    levels: Mapping[str, int],
    asked: Mapping[str, int],
    **wanted: Any,
) -> None:
    brief = cluster.until(wanted["deadline"])
    home = wanted.get("record_namespace") or wanted["namespace"]
    entry = record.read(brief, instance, home)
    if entry is None or package.vnfd is None:
        return
    inventory = entry.inventory
    now = replicas.found(brief, wanted["registry"], inventory)
    other = {vdu for vdu in now if vdu in asked and now[vdu] != asked[vdu]}
    scaled: set[str] = set()
    for aspect, level in levels.items():
        steps = package.vnfd.aspects[aspect].steps.keys()
        scaled |= steps
        if inventory.scale_levels.get(aspect, 0) != level:
            lcm.scale(cluster, instance, aspect=aspect, level=level, **wanted)
        elif other & steps:
            _set(cluster, instance, aspect=aspect, level=level, **wanted)
    fixed: dict[ObjectRef, int] = {
        inventory.vdus[vdu]: asked[vdu] for vdu in other - scaled
    }
    if fixed:
        _set(cluster, instance, targets=fixed, **wanted)


def _set(cluster: Cluster, instance: str, **wanted: Any) -> None:
    """Set numbers that somebody else set, unless that is an autoscaler."""
    try:
        lcm.scale(cluster, instance, **wanted)
    except errors.NotScalable as error:
        LOG.warning("its number stays as it is: %s", error)
