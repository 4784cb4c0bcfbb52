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


def class_ref(cluster: Manifest) -> ObjectRef | None:
    """The class of a Cluster, in either shape; None for one without."""
    topology = fields.mapping(cluster, topology_replicas.TOPOLOGY)
    ref = fields.mapping(topology, ("classRef",))
    name = fields.text(ref, ("name",)) or fields.text(topology, ("class",))
    if not name:
        return None
    namespace = fields.text(ref, ("namespace",))
    namespace = namespace or fields.text(topology, ("classNamespace",))
    own = fields.text(cluster, ("metadata", "namespace"))
    return ObjectRef(contract.GROUP, "ClusterClass", namespace or own, name)


def machine_templates(obj: Manifest) -> dict[str, ObjectRef]:
    """Templates of machines that an object refers to, by what they are for."""
    namespace = fields.text(obj, ("metadata", "namespace"))
    return {
        _USES[where[-1]]: ObjectRef(kind.group, kind.kind, namespace, name)
        for where, kind, name in template_references.template_refs(obj)
        if where[-1] in _USES
    }


def class_templates(
    cluster: Manifest, cluster_class: Manifest, obj: Manifest
) -> dict[str, str]:
    """Names of the class's templates for what a topology has made.

    By what they are for; empty where the class does not say.
    """
    spec = fields.mapping(cluster_class, ("spec",))
    if obj.get("kind") != "MachineDeployment":
        control_plane = fields.mapping(spec, ("controlPlane",))
        name = _template_name(control_plane, "machineInfrastructure")
        return {"infrastructure": name} if name else {}
    label = topology_replicas.LABELS["machineDeployments"]
    entry = fields.text(obj, ("metadata", "labels", label))
    group = (*topology_replicas.TOPOLOGY, "workers", "machineDeployments")
    worker_class = ""
    for item in fields.mappings(cluster, group):
        if fields.text(item, ("name",)) == entry:
            worker_class = fields.text(item, ("class",))
    for item in fields.mappings(spec, ("workers", "machineDeployments")):
        if worker_class and fields.text(item, ("class",)) == worker_class:
            template = fields.mapping(item, ("template",))
            names = {
                use: _template_name(item, use) or _template_name(template, use)
                for use in ("infrastructure", "bootstrap")
            }
            return {use: name for use, name in names.items() if name}
    return {}


def _template_name(part: Mapping[str, object], use: str) -> str:
    """The template in a part of a class, in either shape."""
    return fields.text(part, (use, "templateRef", "name")) or fields.text(
        part, (use, "ref", "name")
    )
