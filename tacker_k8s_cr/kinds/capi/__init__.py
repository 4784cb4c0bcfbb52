"""Cluster API, by contract rather than by provider."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Resolver
from tacker_k8s_cr.kinds.capi import addons
from tacker_k8s_cr.kinds.capi import clusters
from tacker_k8s_cr.kinds.capi import control_planes
from tacker_k8s_cr.kinds.capi import infrastructure
from tacker_k8s_cr.kinds.capi import machines
from tacker_k8s_cr.kinds.capi import templates
from tacker_k8s_cr.model.objects import GroupKind

HANDLERS: Mapping[GroupKind, Handler] = {
    **addons.HANDLERS,
    **clusters.HANDLERS,
    **control_planes.HANDLERS,
    **machines.HANDLERS,
}

# Templates first: their kinds are in the groups of all the others.
FAMILIES: tuple[Resolver, ...] = (
    templates.of_templates,
    control_planes.of_control_planes,
    machines.of_bootstrap,
    infrastructure.of_infrastructure,
)
