"""Wait for the objects that Cluster API creates for a changed topology.

A Cluster reports its topology as reconciled at the moment in which the
generated objects get their new template; for a while its counters still have
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
from tacker_k8s_cr.lcm.stages.wait_unlabelled import Lacking
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action

LOG = logging.getLogger(__name__)

_MOVED = (Action.CREATED, Action.CONFIGURED, Action.RECREATED)


def wait_topology(op: Session) -> None:
    """Wait for what was applied, and for what topologies make of it."""
    op.wait_applied()
    moved = {ref for ref, act in op.actions.items() if act in _MOVED}
    if not any(contract.is_capi_group(ref.group) for ref in moved):
        return
    # One that was made has not said anything that could be from before.
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
            op, watches, functools.partial(_lacking, op, clusters)
        )
    except errors.Forbidden as error:
        # Who may not look has what the objects themselves have told.
        LOG.warning("no look at what topologies make: %s", error)


def _lacking(op: Session, clusters: list[ObjectRef]) -> Lacking:
    found = {}
    for place in clusters:
        cluster = op.cluster.get(place)
        if cluster is None or not _counts(op, place, cluster):
            continue
        class_ref = classes.of(cluster)
        cluster_class = op.cluster.get(class_ref) if class_ref else None
        for made in _made(op, cluster):
            ref = ObjectRef.of(made)
            why = (
                _going(cluster, made)
                or wait_unlabelled.pending_reason(op, ref, made)
                or _outdated(
                    op.cluster.get_metadata, cluster, cluster_class or {}, made
                )
            )
            if why:
                found[ref] = why
    return found


def _counts(op: Session, ref: ObjectRef, cluster: Manifest) -> bool:
    """Whether it has a topology, and is waited for as its kind is."""
    said = objects.annotation(cluster, "readiness") or "status"
    asked = op.progress.registry.override_for(ref)
    topology = fields.mapping(cluster, topology_replicas.TOPOLOGY)
    return bool(topology) and said == "status" and asked is None


def _made(op: Session, cluster: Manifest) -> Iterator[Manifest]:
    """The control plane of a topology, and its MachineDeployments."""
    leader = versions.control_plane(cluster)
    live = op.cluster.get(leader) if leader else None
    if live is not None:
        yield live
    ref = ObjectRef.of(cluster)
    selector = f"{contract.CLUSTER_NAME}={ref.name}"
    yield from op.cluster.list_objects(
        rollouts.DEPLOYMENT, ref.namespace, selector
    )


def _going(cluster: Manifest, made: Manifest) -> str:
    """That workers go which the topology no longer has; else empty."""
    label = topology_replicas.LABELS["machineDeployments"]
    name = fields.text(made, ("metadata", "labels", label))
    cluster_ref = ObjectRef.of(cluster)
    entry = topology_replicas.TopologyReplicas(
        cluster_ref, "machineDeployments", name
    )
    if name and topology_replicas.get_entry(cluster, entry) is None:
        return f"the topology of {cluster_ref} has no {name}; it is to go"
    return ""


def _outdated(
    look: Callable[[ObjectRef], Manifest | None],
    cluster: Manifest,
    cluster_class: Manifest,
    made: Manifest,
) -> str:
    """Which template of the class an object is not made from yet."""
    wanted = classes.wanted(cluster, cluster_class, made)
    if not wanted:
        return ""
    for use, ref in classes.references(made).items():
        live = look(ref) if use in wanted else None
        notes = fields.mapping(live or {}, ("metadata", "annotations"))
        origin = notes.get(classes.CLONED_FROM)
        if origin is not None and origin != wanted[use]:
            name = objects.field(cluster_class, ("metadata", "name"))
            return (
                f"{use} from the template {origin}, and its class {name} "
                f"names {wanted[use]}"
            )
    return ""
