"""Wait for the objects that Cluster API creates for a changed topology.

A Cluster reports its topology as reconciled as soon as the generated objects
get their new template; for a while its counters still have
the former values. For a changed ClusterClass it reports nothing before its
controller has observed the change.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import functools
import logging

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.kinds.capi import cluster_class as classes
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.kinds.capi import versions
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import wait_unlabelled
from tacker_k8s_cr.lcm.stages.wait_unlabelled import Incomplete
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action

LOG = logging.getLogger(__name__)

_WRITTEN = (Action.CREATED, Action.CONFIGURED, Action.RECREATED)


def wait_topology(op: Session) -> None:
    """Wait for applied objects, and for those that topologies generate."""
    op.wait_applied()
    written = {ref for ref, act in op.actions.items() if act in _WRITTEN}
    if not any(contract.is_capi_group(ref.group) for ref in written):
        return
    # The status of a new Cluster cannot be outdated.
    clusters = [
        ref
        for ref in op.progress.awaited
        if ref.group_kind == rollouts.CLUSTER
        and op.actions.get(ref) is not Action.CREATED
    ]
    if not clusters:
        return
    watches = [
        Watch(kind, ref.namespace, "")
        for ref in clusters
        for kind in (rollouts.CLUSTER, rollouts.DEPLOYMENT)
    ]
    try:
        wait_unlabelled.wait_complete(
            op, watches, functools.partial(_find_incomplete, op, clusters)
        )
    except errors.Forbidden as error:
        # The status of the applied objects has to be sufficient.
        LOG.warning("cannot read objects of topologies: %s", error)


def _find_incomplete(op: Session, clusters: list[ObjectRef]) -> Incomplete:
    found = {}
    for cluster_ref in clusters:
        cluster = op.cluster.get(cluster_ref)
        if cluster is None or not _is_awaited(op, cluster_ref, cluster):
            continue
        class_ref = classes.class_ref(cluster)
        cluster_class = op.cluster.get(class_ref) if class_ref else None
        for generated in _generated_objects(op, cluster):
            ref = ObjectRef.of(generated)
            why = (
                _removal_reason(cluster, generated)
                or wait_unlabelled.pending_reason(op, ref, generated)
                or _outdated_reason(
                    op.cluster.get_metadata,
                    cluster,
                    cluster_class or {},
                    generated,
                )
            )
            if why:
                found[ref] = why
    return found


def _is_awaited(op: Session, ref: ObjectRef, cluster: Manifest) -> bool:
    """Return whether it has a topology and its kind's usual readiness."""
    readiness = objects.annotation(cluster, "readiness") or "status"
    override = op.progress.registry.override_for(ref)
    topology = fields.mapping(cluster, topology_replicas.TOPOLOGY)
    return bool(topology) and readiness == "status" and override is None


def _generated_objects(op: Session, cluster: Manifest) -> Iterator[Manifest]:
    """Yield the control plane of a topology, and its MachineDeployments."""
    control_plane = versions.control_plane_ref(cluster)
    live = op.cluster.get(control_plane) if control_plane else None
    if live is not None:
        yield live
    ref = ObjectRef.of(cluster)
    selector = f"{contract.CLUSTER_NAME}={ref.name}"
    yield from op.cluster.list_objects(
        rollouts.DEPLOYMENT, ref.namespace, selector
    )


def _removal_reason(cluster: Manifest, generated: Manifest) -> str:
    """Return that workers were removed from the topology, or empty."""
    label = topology_replicas.LABELS["machineDeployments"]
    name = fields.text(generated, ("metadata", "labels", label))
    cluster_ref = ObjectRef.of(cluster)
    entry = topology_replicas.TopologyReplicas(
        cluster_ref, "machineDeployments", name
    )
    if name and topology_replicas.get_entry(cluster, entry) is None:
        return (
            f"the topology of {cluster_ref} has no {name}; its deletion is "
            "pending"
        )
    return ""


def _outdated_reason(
    read: Callable[[ObjectRef], Manifest | None],
    cluster: Manifest,
    cluster_class: Manifest,
    generated: Manifest,
) -> str:
    """Return which template of the class an object does not use yet."""
    expected = classes.class_templates(cluster, cluster_class, generated)
    if not expected:
        return ""
    for usage, ref in classes.machine_templates(generated).items():
        live = read(ref) if usage in expected else None
        annotations = fields.mapping(live or {}, ("metadata", "annotations"))
        origin = annotations.get(classes.CLONED_FROM)
        if origin is not None and origin != expected[usage]:
            name = objects.field(cluster_class, ("metadata", "name"))
            return (
                f"{usage} from the template {origin}, and its class {name} "
                f"names {expected[usage]}"
            )
    return ""
