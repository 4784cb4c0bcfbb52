"""What a topology makes of a ClusterClass, and of which templates."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.capi import references as template_references
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

CLONED_FROM = "cluster.x-k8s.io/cloned-from-name"
"""Annotation of a template that a topology has cloned."""

_USES = {"infrastructureRef": "infrastructure", "configRef": "bootstrap"}
"""By the field that refers to a template, what a class calls its use."""


def of(cluster: Manifest) -> ObjectRef | None:
    """The class of a Cluster, in either shape; None for one without."""
    topology = fields.mapping(cluster, topology_replicas.TOPOLOGY)
    ref = fields.mapping(topology, ("classRef",))
    name = fields.text(ref, ("name",)) or fields.text(topology, ("class",))
    if not name:
        return None
    home = fields.text(ref, ("namespace",))
    home = home or fields.text(topology, ("classNamespace",))
    own = fields.text(cluster, ("metadata", "namespace"))
    return ObjectRef(contract.GROUP, "ClusterClass", home or own, name)


def references(made: Manifest) -> dict[str, ObjectRef]:
    """Templates of machines that an object refers to, by what they are for."""
    place = fields.text(made, ("metadata", "namespace"))
    return {
        _USES[where[-1]]: ObjectRef(kind.group, kind.kind, place, name)
        for where, kind, name in template_references.template_refs(made)
        if where[-1] in _USES
    }


def wanted(
    cluster: Manifest, cluster_class: Manifest, made: Manifest
) -> dict[str, str]:
    """Names of the class's templates for what a topology has made.

    By what they are for; empty where the class does not say.
    """
    spec = fields.mapping(cluster_class, ("spec",))
    if made.get("kind") != "MachineDeployment":
        leader = fields.mapping(spec, ("controlPlane",))
        name = _named(leader, "machineInfrastructure")
        return {"infrastructure": name} if name else {}
    label = topology_replicas.LABELS["machineDeployments"]
    entry = fields.text(made, ("metadata", "labels", label))
    group = (*topology_replicas.TOPOLOGY, "workers", "machineDeployments")
    sort = ""
    for item in fields.mappings(cluster, group):
        if fields.text(item, ("name",)) == entry:
            sort = fields.text(item, ("class",))
    for item in fields.mappings(spec, ("workers", "machineDeployments")):
        if sort and fields.text(item, ("class",)) == sort:
            older = fields.mapping(item, ("template",))
            names = {
                use: _named(item, use) or _named(older, use)
                for use in ("infrastructure", "bootstrap")
            }
            return {use: name for use, name in names.items() if name}
    return {}


def _named(part: Mapping[str, object], use: str) -> str:
    """The template in a part of a class, in either shape."""
    return fields.text(part, (use, "templateRef", "name")) or fields.text(
        part, (use, "ref", "name")
    )
