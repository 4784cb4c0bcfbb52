"""Wait for what Cluster API makes of a topology that changed.

A Cluster says that its topology is reconciled in the moment in which what
that made gets its new template; for a while its counters are still those
from before. And of a class that changed it says nothing at all before its
controller has seen it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import functools
import logging

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Watch
from tacker_k8s_cr.kinds import entries
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.kinds.capi import classes
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.kinds.capi import versions
from tacker_k8s_cr.lcm import reaching
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.lcm.reaching import Lacking
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.report import Action

LOG = logging.getLogger(__name__)

_MOVED = (Action.CREATED, Action.CONFIGURED, Action.RECREATED)


def settled(op: Operation) -> None:
    """Wait for what was applied, and for what topologies make of it."""
    op.settle()
    moved = {ref for ref, act in op.actions.items() if act in _MOVED}
    if not any(contract.in_family(ref.group) for ref in moved):
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
        reaching.until(op, watches, functools.partial(_lacking, op, clusters))
    except errors.Forbidden as error:
        # Who may not look has what the objects themselves have told.
        LOG.warning("no look at what topologies make: %s", error)


def _lacking(op: Operation, clusters: list[ObjectRef]) -> Lacking:
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
                or reaching.unsettled(op, ref, made)
                or _outdated(
                    op.cluster.get_metadata, cluster, cluster_class or {}, made
                )
            )
            if why:
                found[ref] = why
    return found


def _counts(op: Operation, ref: ObjectRef, cluster: Manifest) -> bool:
    """Whether it has a topology, and is waited for as its kind is."""
    said = objects.annotation(cluster, "readiness") or "strict"
    asked = op.progress.registry.asked(ref)
    topology = reading.mapping(cluster, entries.TOPOLOGY)
    return bool(topology) and said == "strict" and asked is None


def _made(op: Operation, cluster: Manifest) -> Iterator[Manifest]:
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
    label = entries.LABELS["machineDeployments"]
    name = reading.text(made, ("metadata", "labels", label))
    cluster_ref = ObjectRef.of(cluster)
    entry = entries.Entry(cluster_ref, "machineDeployments", name)
    if name and entries.content(cluster, entry) is None:
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
        notes = reading.mapping(live or {}, ("metadata", "annotations"))
        origin = notes.get(classes.CLONED_FROM)
        if origin is not None and origin != wanted[use]:
            name = objects.field(cluster_class, ("metadata", "name"))
            return (
                f"{use} from the template {origin}, and its class {name} "
                f"names {wanted[use]}"
            )
    return ""
