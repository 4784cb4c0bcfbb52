"""Machines, what keeps a number of them, and what starts and watches them."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.kinds.capi import signals
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import Verdict

DEPLOYMENT_NAME = "cluster.x-k8s.io/deployment-name"
SET_NAME = "cluster.x-k8s.io/set-name"
POOL_NAME = "cluster.x-k8s.io/pool-name"
MANAGED_BY = "cluster.x-k8s.io/replicas-managed-by"

SET_COUNTERS = ("replicas", "readyReplicas", "availableReplicas")
"""A MachineSet never updates machines. Of one that no MachineDeployment has
made, no machine is ever said to be up to date."""


def machine_deployment(obj: Manifest) -> Verdict:
    if verdict := signals.begun(obj):
        return verdict
    spoken = contract.spoken(obj)
    found = reading.conditions(obj)
    rolls = not rollouts.when_deleted(obj)
    if verdict := signals.silent(obj, found.get("Available")):
        return verdict
    if spoken is contract.V1BETA2:
        if verdict := signals.unmet(obj, found, "Available"):
            return verdict
        if verdict := signals.busy(obj, found, rolling=rolls):
            return verdict
    wanted = _wanted(obj)
    counters = spoken.counters if rolls else spoken.counters[1:]
    return (
        signals.lacking(obj, ("status",), counters, wanted)
        or _away(obj)
        or (_rolled(obj, wanted) if rolls else None)
        or base.current(f"{wanted} machine(s) ready{_behind(obj, rolls)}")
    )


def _behind(obj: Manifest, rolls: bool) -> str:
    """What is to be told of machines that nobody replaces by himself."""
    behind = rollouts.behind(obj)
    if rolls or not behind:
        return ""
    return f"; {behind} of them take the change when somebody deletes them"


def _away(obj: Manifest) -> Verdict | None:
    for where in (("status",), ("status", "deprecated", "v1beta1")):
        away = reading.number(obj, (*where, "unavailableReplicas"))
        if away:
            path = ".".join((*where[1:], "unavailableReplicas"))
            return signals.waiting(obj, f"{path} {away}/0")
    return None


def _rolled(obj: Manifest, wanted: int) -> Verdict | None:
    """In progress where the older counters know of a rollout already.

    Whether a Machine is up to date is found out by another controller: for
    a moment after a change of the template, at the new generation, all the
    newer counters and conditions still say that nothing is to be done. The
    older ones, and the versions, are from the MachineSets themselves (seen
    with Cluster API 1.14).
    """
    where = ("status", "deprecated", "v1beta1")
    if reading.number(obj, (*where, "updatedReplicas")) is not None:
        return signals.lacking(obj, where, ("updatedReplicas",), wanted)
    asked = reading.text(obj, ("spec", "template", "spec", "version"))
    for item in reading.items(obj, ("status", "versions")):
        version = reading.text(item, ("version",))
        if asked and version and version != asked:
            return signals.waiting(obj, f"version {version}, {asked} asked")
    return None


def machine_set(obj: Manifest) -> Verdict:
    """It has no condition of its own that would say it is as it should."""
    if verdict := signals.begun(obj):
        return verdict
    found = reading.conditions(obj)
    if verdict := signals.silent(obj, found.get("MachinesReady")):
        return verdict
    if verdict := signals.busy(obj, found):
        return verdict
    wanted = _wanted(obj)
    counters: tuple[str, ...] = SET_COUNTERS
    if contract.spoken(obj) is contract.V1BETA2 and any(
        reading.text(owner, ("kind",)) == "MachineDeployment"
        for owner in reading.items(obj, ("metadata", "ownerReferences"))
    ):
        counters = contract.V1BETA2.counters
    lack = signals.lacking(obj, ("status",), counters, wanted)
    return lack or base.current(f"{wanted} machine(s) ready")


def machine(obj: Manifest) -> Verdict:
    if verdict := signals.begun(obj):
        return verdict
    found = reading.conditions(obj)
    if verdict := signals.silent(obj, found.get("Ready")):
        return verdict
    if verdict := signals.unmet(obj, found, "Ready"):
        return verdict
    if verdict := signals.busy(obj, found):
        return verdict
    phase = reading.text(obj, ("status", "phase"))
    if phase != "Running":
        return signals.waiting(obj, f"phase {phase or 'not reported'}")
    node = reading.text(obj, ("status", "nodeRef", "name"))
    return base.current(f"Running as node {node}" if node else "Running")


def machine_pool(obj: Manifest) -> Verdict:
    """By phase and counters: no condition of a pool says how it is.

    Where somebody else keeps the number, the phase is Scaling for ever.
    """
    if verdict := signals.begun(obj):
        return verdict
    if verdict := signals.silent(obj):
        return verdict
    phase = reading.text(obj, ("status", "phase"))
    others = MANAGED_BY in reading.annotations_of(obj)
    if phase != "Running" and not (others and phase == "Scaling"):
        return signals.waiting(obj, f"phase {phase or 'not reported'}")
    wanted = _wanted(obj)
    counters = ("replicas", "readyReplicas")
    lack = signals.lacking(obj, ("status",), counters, wanted)
    return lack or base.current(f"{wanted} replica(s) ready")


def health_check(obj: Manifest) -> Verdict:
    """It works as soon as it is there; what it does is no state of it."""
    if verdict := signals.begun(obj):
        return verdict
    allowed = reading.conditions(obj).get("RemediationAllowed")
    if allowed and allowed.false:
        return base.current(f"stored, with a warning: {allowed}")
    return base.current("stored")


def bootstrap(obj: Manifest) -> Verdict:
    """A bootstrap configuration: is the data for its machine made?"""
    if verdict := signals.begun(obj):
        return verdict
    spoken = contract.spoken(obj)
    if reading.true(obj, spoken.data_created):
        secret = reading.text(obj, ("status", "dataSecretName"))
        return base.current(f"data in the Secret {secret}")
    ready = reading.conditions(obj).get("Ready")
    why = f"; {ready}" if ready and not ready.true else ""
    path = ".".join(spoken.data_created)
    return signals.waiting(obj, f"{path} is not true yet{why}")


def _wanted(obj: Manifest) -> int:
    """The webhooks fill in 1 where nothing else says how many."""
    found = reading.number(obj, contract.REPLICAS)
    return 1 if found is None else found


_BOOTSTRAP = Handler(bootstrap)


def of_bootstrap(group_kind: GroupKind) -> Handler | None:
    """The handler of a bootstrap configuration, whoever provides it."""
    if group_kind.group == contract.BOOTSTRAP_GROUP:
        return _BOOTSTRAP
    return None


def _sets(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    name = reading.text(obj, ("metadata", "name"))
    return contract.labelled("MachineSet", DEPLOYMENT_NAME, name)


def _machines(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    name = reading.text(obj, ("metadata", "name"))
    return contract.labelled("Machine", SET_NAME, name)


def _of_pool(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    """None where the provider does not show the machines of its pools."""
    name = reading.text(obj, ("metadata", "name"))
    return contract.labelled("Machine", POOL_NAME, name)


_IN_TEMPLATE = contract.references(
    ("spec", "template", "spec", "infrastructureRef"),
    ("spec", "template", "spec", "bootstrap", "configRef"),
)

HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind(contract.GROUP, "MachineDeployment"): Handler(
        machine_deployment, replicas=contract.REPLICAS, made=_sets
    ),
    GroupKind(contract.GROUP, "MachineSet"): Handler(
        machine_set, replicas=contract.REPLICAS, made=_machines
    ),
    # The references of a pool name the very objects it uses, no templates.
    GroupKind(contract.GROUP, "MachinePool"): Handler(
        machine_pool,
        replicas=contract.REPLICAS,
        children=_IN_TEMPLATE,
        made=_of_pool,
    ),
    GroupKind(contract.GROUP, "Machine"): Handler(
        machine,
        children=contract.references(
            ("spec", "infrastructureRef"), ("spec", "bootstrap", "configRef")
        ),
    ),
    GroupKind(contract.GROUP, "MachineHealthCheck"): Handler(health_check),
    GroupKind(contract.GROUP, "MachineDrainRule"): Handler(base.stored),
}
