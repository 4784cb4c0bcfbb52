"""Clusters, and the workers that their readiness includes."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.capi import conditions
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.capi import rollout_strategy
from tacker_k8s_cr.kinds.fields import Condition
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.model.objects import Verdict

COUNTERS = (
    "upToDateReplicas",
    "replicas",
    "readyReplicas",
)
"""Counters of the control plane and of the workers, beside the desired."""

TOPOLOGY: Path = ("spec", "topology")

GROUPS = ("controlPlane", "workers")
UP_TO_DATE = ("ControlPlaneMachinesUpToDate", "WorkerMachinesUpToDate")


@dataclasses.dataclass(frozen=True)
class Workers:
    """Which workers a package defines for its Clusters, by name.

    :param on_delete: workers take a change only when a user deletes them,
        which the status of a Cluster does not show.
    :param machine_sets: some belong to a MachineSet of the package.
        Cluster API does not reconcile a Cluster when such a MachineSet
        changes (1.14: it watches MachineDeployments and MachinePools), so
        the workers in the Cluster's status may be outdated.
    """

    on_delete: frozenset[str] = frozenset()
    machine_sets: frozenset[str] = frozenset()


def cluster(obj: Manifest, workers: Workers = Workers()) -> Verdict:
    """A Cluster, by its conditions and counters.

    Its phase covers infrastructure and endpoint only, and is Provisioned
    for a cluster whose machines never start.
    """
    if verdict := conditions.common_verdict(obj):
        return verdict
    if contract.contract_of(obj) is contract.V1BETA2:
        found = fields.conditions(obj)
        verdict = _pending(obj, found, ("status",), workers)
        return verdict or _available_verdict(obj)
    if verdict := conditions.not_observed(obj):
        return verdict
    found = fields.conditions(obj)
    if verdict := conditions.require_true(
        obj, found, *_required_conditions(obj, "Ready")
    ):
        return verdict
    # Ready does not cover workers. Where the object shows the newer
    # conditions beside it, they do.
    if newer := fields.conditions(obj, conditions.V1BETA2_CONDITIONS):
        verdict = _pending(obj, newer, ("status", "v1beta2"), workers)
        return verdict or _available_verdict(obj)
    return base.current("Ready")


def _required_conditions(obj: Manifest, summary: str) -> tuple[str, ...]:
    """A summary takes most of what a topology still has to do for granted."""
    if fields.mapping(obj, TOPOLOGY):
        return ("TopologyReconciled", summary)
    return (summary,)


def _pending(
    obj: Manifest,
    found: dict[str, Condition],
    where: Path,
    workers: Workers,
) -> Verdict | None:
    """In progress unless all that was asked of the cluster is done."""
    needed = _required_conditions(obj, "Available")
    if verdict := conditions.require_true(obj, found, *needed):
        return verdict
    if verdict := conditions.not_observed(obj, found.get("Available")):
        return verdict
    name = fields.text(obj, ("metadata", "name"))
    if name in workers.machine_sets:
        # Each object that has workers is waited for on its own.
        verdict = conditions.require_true(obj, found, UP_TO_DATE[0])
        return verdict or _replicas_pending(obj, (*where, GROUPS[0]), COUNTERS)
    unreported = _unreported(obj, found)
    has_on_delete = name in workers.on_delete or any(
        map(rollout_strategy.is_on_delete, worker_entries(obj))
    )
    if has_on_delete:
        unreported.add(UP_TO_DATE[1])
    control_plane = found.get(UP_TO_DATE[0])
    rolling = not (has_on_delete and control_plane and control_plane.is_true)
    if verdict := conditions.in_rollout(obj, found, rolling=rolling):
        return verdict
    rolled = [name for name in UP_TO_DATE if name not in unreported]
    if verdict := conditions.require_true(obj, found, *rolled):
        return verdict
    for group, condition in zip(GROUPS, UP_TO_DATE, strict=True):
        counters = COUNTERS[1:] if condition in unreported else COUNTERS
        if verdict := _replicas_pending(obj, (*where, group), counters):
            return verdict
    return _rollout_pending(obj, where) if has_on_delete else None


def _rollout_pending(obj: Manifest, where: Path) -> Verdict | None:
    """In progress while other workers of a topology are replaced."""
    updated = fields.number(obj, (*where, "workers", COUNTERS[0]))
    minimum = sum(
        fields.number(entry, ("replicas",)) or 0
        for entry in worker_entries(obj)
        if not rollout_strategy.is_on_delete(entry)
    )
    if updated is not None and updated < minimum:
        path = ".".join((*where[1:], "workers", COUNTERS[0]))
        return conditions.in_progress(obj, f"{path} {updated}/{minimum}")
    return None


def worker_entries(obj: Manifest) -> tuple[Mapping[str, Any], ...]:
    """Return the entries of a topology for its groups of workers."""
    workers = (*TOPOLOGY, "workers")
    return (
        *fields.mappings(obj, (*workers, "machineDeployments")),
        *fields.mappings(obj, (*workers, "machinePools")),
    )


def _unreported(obj: Manifest, found: dict[str, Condition]) -> set[str]:
    """Conditions that may stay unknown for ever.

    Machines of a MachineSet alone are never reported as up to date. In
    a topology there is none; else a package that has a MachineDeployment
    waits for that, too.
    """
    workers = found.get(UP_TO_DATE[1])
    if workers is None or workers.is_true or workers.is_false:
        return set()
    return set() if fields.mapping(obj, TOPOLOGY) else {UP_TO_DATE[1]}


def _replicas_pending(
    obj: Manifest, where: Path, counters: tuple[str, ...]
) -> Verdict | None:
    """In progress unless as many machines are there as are desired.

    A cluster without workers has none of these counters, nor has one whose
    control plane has no replicas.
    """
    group = fields.mapping(obj, where)
    if not any(name in group for name in ("desiredReplicas", *COUNTERS)):
        return None
    path = ".".join((*where[1:], "desiredReplicas"))
    desired = fields.number(group, ("desiredReplicas",))
    if desired is None:
        return conditions.in_progress(obj, f"{path} is not reported")
    # The topology is reconciled a moment before what it changed is counted.
    minimum = _requested_replicas(obj)[where[-1]]
    if desired < minimum:
        return conditions.in_progress(obj, f"{path} {desired}/{minimum}")
    return conditions.counters_mismatch(obj, where, counters, desired)


def _requested_replicas(obj: Manifest) -> dict[str, int]:
    """How many machines the topology asks for at least.

    An autoscaler may manage the replicas of an entry, and workers may exist
    beside the topology, so that a higher count is not an error.
    """
    control_plane = fields.number(obj, (*TOPOLOGY, "controlPlane", "replicas"))
    return {
        "controlPlane": control_plane or 0,
        "workers": sum(
            fields.number(entry, ("replicas",)) or 0
            for entry in worker_entries(obj)
        ),
    }


def _available_verdict(obj: Manifest) -> Verdict:
    parts = []
    for name, group in (
        ("control plane machine(s)", "controlPlane"),
        ("worker(s)", "workers"),
    ):
        for where in (("status",), ("status", "v1beta2")):
            ready = fields.number(obj, (*where, group, "readyReplicas"))
            if ready is not None:
                parts.append(f"{ready} {name}")
                break
    return base.current(", ".join(["Available", *parts]))


def _workers(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    name = fields.text(obj, ("metadata", "name"))
    return (
        *contract.label_selector(
            "MachineDeployment", contract.CLUSTER_NAME, name
        ),
        *contract.label_selector("MachinePool", contract.CLUSTER_NAME, name),
    )


HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind(contract.GROUP, "Cluster"): Handler(
        cluster,
        ApplyOrder.CLUSTER,
        prune_protected=True,
        delete_exclusively=True,
        references=contract.references(
            ("spec", "infrastructureRef"), ("spec", "controlPlaneRef")
        ),
        child_selectors=_workers,
    ),
}


CLUSTER = GroupKind(contract.GROUP, "Cluster")
_DEPLOYMENT = GroupKind(contract.GROUP, "MachineDeployment")
_SET = GroupKind(contract.GROUP, "MachineSet")


def with_workers(manifests: Iterable[Manifest]) -> Mapping[GroupKind, Handler]:
    """Return a handler of Clusters for the workers of a package.

    It extends a registry. Empty if the status of a Cluster is sufficient for
    its workers.
    """
    on_delete = set()
    machine_sets = set()
    for manifest in manifests:
        kind = GroupKind.of(manifest)
        name = fields.text(manifest, ("spec", "clusterName"))
        if kind == _SET:
            machine_sets.add(name)
        elif kind == _DEPLOYMENT and rollout_strategy.is_on_delete(
            fields.mapping(manifest, ("spec",))
        ):
            on_delete.add(name)
    workers = Workers(frozenset(on_delete), frozenset(machine_sets))
    if workers == Workers():
        return {}
    handler = HANDLERS[CLUSTER]
    return {
        CLUSTER: dataclasses.replace(
            handler, assess=lambda obj: cluster(obj, workers)
        )
    }
