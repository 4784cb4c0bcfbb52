"""Machines, what keeps a number of them, and what starts and watches them."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.capi import conditions
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Verdict

DEPLOYMENT_NAME = "cluster.x-k8s.io/deployment-name"
SET_NAME = "cluster.x-k8s.io/set-name"
POOL_NAME = "cluster.x-k8s.io/pool-name"
MANAGED_BY = "cluster.x-k8s.io/replicas-managed-by"

SET_COUNTERS = ("replicas", "readyReplicas", "availableReplicas")
"""A MachineSet never updates machines. Without a MachineDeployment above it,
no machine is ever reported as up to date."""


def machine_deployment(obj: Manifest) -> Verdict:
    if verdict := conditions.common_verdict(obj):
        return verdict
    version = contract.contract_of(obj)
    found = fields.conditions(obj)
    rolls = not rollouts.has_on_delete_strategy(obj)
    if verdict := conditions.not_observed(obj, found.get("Available")):
        return verdict
    if version is contract.V1BETA2:
        if verdict := conditions.require_true(obj, found, "Available"):
            return verdict
        if verdict := conditions.in_rollout(obj, found, rolling=rolls):
            return verdict
    desired = _desired_replicas(obj)
    counters = version.counters if rolls else version.counters[1:]
    return (
        conditions.counters_mismatch(obj, ("status",), counters, desired)
        or _unavailable_verdict(obj)
        or (_rollout_pending(obj, desired) if rolls else None)
        or base.current(
            f"{desired} machine(s) ready{_outdated_reason(obj, rolls)}"
        )
    )


def _outdated_reason(obj: Manifest, rolls: bool) -> str:
    """Describe outdated machines that no controller replaces."""
    outdated = rollouts.outdated_machines(obj)
    if rolls or not outdated:
        return ""
    return f"; {outdated} of them take the change when they are deleted"


def _unavailable_verdict(obj: Manifest) -> Verdict | None:
    for where in (("status",), ("status", "deprecated", "v1beta1")):
        unavailable = fields.number(obj, (*where, "unavailableReplicas"))
        if unavailable:
            path = ".".join((*where[1:], "unavailableReplicas"))
            return conditions.in_progress(obj, f"{path} {unavailable}/0")
    return None


def _rollout_pending(obj: Manifest, desired: int) -> Verdict | None:
    """In progress where the older counters know of a rollout already.

    Whether a Machine is up to date is found out by another controller: for
    a moment after a change of the template, at the new generation, all the
    newer counters and conditions still say that nothing is to be done. The
    older ones, and the versions, are from the MachineSets themselves (seen
    with Cluster API 1.14).
    """
    where = ("status", "deprecated", "v1beta1")
    if fields.number(obj, (*where, "updatedReplicas")) is not None:
        return conditions.counters_mismatch(
            obj, where, ("updatedReplicas",), desired
        )
    desired_version = fields.text(obj, ("spec", "template", "spec", "version"))
    for item in fields.mappings(obj, ("status", "versions")):
        version = fields.text(item, ("version",))
        if desired_version and version and version != desired_version:
            return conditions.in_progress(
                obj, f"version {version}, {desired_version} asked"
            )
    return None


def machine_set(obj: Manifest) -> Verdict:
    """It has no condition of its own that would say it is as it should."""
    if verdict := conditions.common_verdict(obj):
        return verdict
    found = fields.conditions(obj)
    if verdict := conditions.not_observed(obj, found.get("MachinesReady")):
        return verdict
    if verdict := conditions.in_rollout(obj, found):
        return verdict
    desired = _desired_replicas(obj)
    counters: tuple[str, ...] = SET_COUNTERS
    if contract.contract_of(obj) is contract.V1BETA2 and any(
        fields.text(owner, ("kind",)) == "MachineDeployment"
        for owner in fields.mappings(obj, ("metadata", "ownerReferences"))
    ):
        counters = contract.V1BETA2.counters
    mismatch = conditions.counters_mismatch(
        obj, ("status",), counters, desired
    )
    return mismatch or base.current(f"{desired} machine(s) ready")


def machine(obj: Manifest) -> Verdict:
    if verdict := conditions.common_verdict(obj):
        return verdict
    found = fields.conditions(obj)
    if verdict := conditions.not_observed(obj, found.get("Ready")):
        return verdict
    if verdict := conditions.require_true(obj, found, "Ready"):
        return verdict
    if verdict := conditions.in_rollout(obj, found):
        return verdict
    phase = fields.text(obj, ("status", "phase"))
    if phase != "Running":
        return conditions.in_progress(obj, f"phase {phase or 'not reported'}")
    node = fields.text(obj, ("status", "nodeRef", "name"))
    return base.current(f"Running as node {node}" if node else "Running")


def machine_pool(obj: Manifest) -> Verdict:
    """By phase and counters: a pool has no condition for its state.

    With externally managed replicas the phase is Scaling forever.
    """
    if verdict := conditions.common_verdict(obj):
        return verdict
    if verdict := conditions.not_observed(obj):
        return verdict
    phase = fields.text(obj, ("status", "phase"))
    others = MANAGED_BY in fields.annotations_of(obj)
    if phase != "Running" and not (others and phase == "Scaling"):
        return conditions.in_progress(obj, f"phase {phase or 'not reported'}")
    desired = _desired_replicas(obj)
    counters = ("replicas", "readyReplicas")
    mismatch = conditions.counters_mismatch(
        obj, ("status",), counters, desired
    )
    return mismatch or base.current(f"{desired} replica(s) ready")


def health_check(obj: Manifest) -> Verdict:
    """Current once stored; remediation is not part of its state."""
    if verdict := conditions.common_verdict(obj):
        return verdict
    allowed = fields.conditions(obj).get("RemediationAllowed")
    if allowed and allowed.is_false:
        return base.current(f"stored, with a warning: {allowed}")
    return base.current("stored")


def bootstrap(obj: Manifest) -> Verdict:
    """A bootstrap configuration: is the data for its machine made?"""
    if verdict := conditions.common_verdict(obj):
        return verdict
    version = contract.contract_of(obj)
    if fields.is_true(obj, version.data_created):
        secret = fields.text(obj, ("status", "dataSecretName"))
        return base.current(f"data in the Secret {secret}")
    ready = fields.conditions(obj).get("Ready")
    why = f"; {ready}" if ready and not ready.is_true else ""
    path = ".".join(version.data_created)
    return conditions.in_progress(obj, f"{path} is not true yet{why}")


def _desired_replicas(obj: Manifest) -> int:
    """Return the desired replicas; the webhooks set 1 by default."""
    found = fields.number(obj, contract.REPLICAS)
    return 1 if found is None else found


_BOOTSTRAP = Handler(bootstrap)


def of_bootstrap(group_kind: GroupKind) -> Handler | None:
    """Return the handler of a bootstrap configuration of any provider."""
    if group_kind.group == contract.BOOTSTRAP_GROUP:
        return _BOOTSTRAP
    return None


def _machine_sets(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    name = fields.text(obj, ("metadata", "name"))
    return contract.label_selector("MachineSet", DEPLOYMENT_NAME, name)


def _machines(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    name = fields.text(obj, ("metadata", "name"))
    return contract.label_selector("Machine", SET_NAME, name)


def _pool_machines(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    """None where the provider does not show the machines of its pools."""
    name = fields.text(obj, ("metadata", "name"))
    return contract.label_selector("Machine", POOL_NAME, name)


_IN_TEMPLATE = contract.references(
    ("spec", "template", "spec", "infrastructureRef"),
    ("spec", "template", "spec", "bootstrap", "configRef"),
)

HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind(contract.GROUP, "MachineDeployment"): Handler(
        machine_deployment,
        replicas=contract.REPLICAS,
        child_selectors=_machine_sets,
    ),
    GroupKind(contract.GROUP, "MachineSet"): Handler(
        machine_set, replicas=contract.REPLICAS, child_selectors=_machines
    ),
    # The references of a pool name the very objects it uses, no templates.
    GroupKind(contract.GROUP, "MachinePool"): Handler(
        machine_pool,
        replicas=contract.REPLICAS,
        references=_IN_TEMPLATE,
        child_selectors=_pool_machines,
    ),
    GroupKind(contract.GROUP, "Machine"): Handler(
        machine,
        references=contract.references(
            ("spec", "infrastructureRef"), ("spec", "bootstrap", "configRef")
        ),
    ),
    GroupKind(contract.GROUP, "MachineHealthCheck"): Handler(health_check),
    GroupKind(contract.GROUP, "MachineDrainRule"): Handler(base.stored),
}
