"""Classes of clusters, and what is added to clusters."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.capi import conditions
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Verdict

ADDONS_GROUP = "addons.cluster.x-k8s.io"
IPAM_GROUP = "ipam.cluster.x-k8s.io"
RUNTIME_GROUP = "runtime.cluster.x-k8s.io"


def cluster_class(obj: Manifest) -> Verdict:
    """A topology is not reconciled before its class has its variables."""
    if verdict := conditions.common_verdict(obj):
        return verdict
    newer = contract.contract_of(obj) is contract.V1BETA2
    deciding = "VariablesReady" if newer else "VariablesReconciled"
    found = fields.conditions(obj)
    if verdict := conditions.not_observed(obj, found.get(deciding)):
        return verdict
    if verdict := conditions.require_true(obj, found, deciding):
        return verdict
    return base.current(deciding)


def resource_set(obj: Manifest) -> Verdict:
    """A ClusterResourceSet.

    Its controller reports on a set that selects no Cluster nothing but that
    it is not paused, and never comes back to it before one appears.
    """
    if verdict := conditions.common_verdict(obj):
        return verdict
    found = fields.conditions(obj)
    if "ResourcesApplied" in found:
        verdict = conditions.require_true(obj, found, "ResourcesApplied")
        return verdict or base.current("ResourcesApplied")
    if "Paused" in conditions.all_conditions(obj):
        return base.current("selects no Cluster")
    return conditions.in_progress(
        obj, "its controller has not reported on it yet"
    )


def address_claim(obj: Manifest) -> Verdict:
    """An IPAddressClaim: has an address been given?"""
    if verdict := conditions.common_verdict(obj):
        return verdict
    name = fields.text(obj, ("status", "addressRef", "name"))
    if name:
        return base.current(f"has the IPAddress {name}")
    ready = fields.conditions(obj).get("Ready")
    why = f": {ready}" if ready and not ready.is_true else ""
    return conditions.in_progress(obj, f"no address is given yet{why}")


def extension(obj: Manifest) -> Verdict:
    """An ExtensionConfig: did the extension answer what it offers?"""
    if verdict := conditions.common_verdict(obj):
        return verdict
    found = fields.conditions(obj)
    verdict = conditions.require_true(obj, found, "Discovered")
    return verdict or base.current("Discovered")


HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind(contract.GROUP, "ClusterClass"): Handler(
        cluster_class, ApplyOrder.TEMPLATE
    ),
    GroupKind(ADDONS_GROUP, "ClusterResourceSet"): Handler(resource_set),
    GroupKind(ADDONS_GROUP, "ClusterResourceSetBinding"): Handler(base.stored),
    GroupKind(IPAM_GROUP, "IPAddress"): Handler(base.stored),
    GroupKind(IPAM_GROUP, "IPAddressClaim"): Handler(address_claim),
    GroupKind(RUNTIME_GROUP, "ExtensionConfig"): Handler(extension),
}
