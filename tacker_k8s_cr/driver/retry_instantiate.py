"""Repeat an instantiation whose objects already exist.

Tacker repeats an instantiation if it did not store the instance as
instantiated: an earlier attempt failed at its end, for example in a management
script. The repeated request may have another package, or another level.
"""

from __future__ import annotations

from collections.abc import Mapping
import logging
from typing import Any

from tacker_k8s_cr.engine import replicas
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.lcm.preparation.scale_levels import Size
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.state import store

LOG = logging.getLogger(__name__)


def instantiate_existing(
    request: lcm.Request,
    package: Package,
    size: Size,
    *,
    vdu_mapping: Mapping[str, str],
    policy: Policy,
) -> Report:
    """Replace the package, and scale to the size that the request names."""
    before = _recorded(request).scale_levels
    report = lcm.change(
        request, package, vdu_mapping=vdu_mapping, policy=policy, size=size
    )
    # A change keeps the replica counts of objects.
    _resize(request, size, before)
    return report


def _recorded(request: lcm.Request) -> Inventory:
    cluster = request.cluster.with_deadline(request.deadline)
    record_namespace = request.record_namespace or request.namespace
    entry = store.read(cluster, request.instance, record_namespace)
    if entry is None:
        raise errors.InstanceNotFound(request.instance, record_namespace)
    return entry.inventory


def _resize(
    request: lcm.Request, size: Size, before: Mapping[str, int]
) -> None:
    """Set the replica counts that differ from those of the size.

    :param before: the scale levels before the change.
    """
    inventory = _recorded(request)
    if inventory.vnfd is None:
        return
    cluster = request.cluster.with_deadline(request.deadline)
    now = replicas.live_replicas(cluster, request.registry, inventory)
    other = {
        vdu
        for vdu, number in now.items()
        if number is not None and number != size.counts.get(vdu, number)
    }
    scaled: set[str] = set()
    for aspect, level in size.levels.items():
        steps = inventory.vnfd.aspects[aspect].steps.keys()
        scaled |= steps
        if not other & steps:
            continue
        send = _set if before.get(aspect, 0) == level else lcm.scale
        send(request, aspect=aspect, level=level)
    fixed: dict[ObjectRef, int] = {
        inventory.vdus[vdu]: size.counts[vdu] for vdu in other - scaled
    }
    if fixed:
        _set(request, targets=fixed)


def _set(request: lcm.Request, **how: Any) -> None:
    """Set counts that another client has set, unless it is an autoscaler."""
    try:
        lcm.scale(request, **how)
    except errors.NotScalable as error:
        LOG.warning("the replica count stays as it is: %s", error)
