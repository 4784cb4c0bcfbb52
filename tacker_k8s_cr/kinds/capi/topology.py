"""Classes of clusters, and what is added to clusters."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Rank
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.capi import signals
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import Verdict

ADDONS_GROUP = "addons.cluster.x-k8s.io"
IPAM_GROUP = "ipam.cluster.x-k8s.io"
RUNTIME_GROUP = "runtime.cluster.x-k8s.io"


def cluster_class(obj: Manifest) -> Verdict:
    """A topology is not reconciled before its class has its variables."""
    if verdict := signals.begun(obj):
        return verdict
    newer = contract.spoken(obj) is contract.V1BETA2
    deciding = "VariablesReady" if newer else "VariablesReconciled"
    found = reading.conditions(obj)
    if verdict := signals.silent(obj, found.get(deciding)):
        return verdict
    if verdict := signals.unmet(obj, found, deciding):
        return verdict
    return base.current(deciding)


def resource_set(obj: Manifest) -> Verdict:
    """A ClusterResourceSet.

    Its controller reports on a set that selects no Cluster nothing but that
    it is not paused, and never comes back to it before one appears.
    """
    if verdict := signals.begun(obj):
        return verdict
    found = reading.conditions(obj)
    if "ResourcesApplied" in found:
        verdict = signals.unmet(obj, found, "ResourcesApplied")
        return verdict or base.current("ResourcesApplied")
    if "Paused" in signals.told(obj):
        return base.current("selects no Cluster")
    return signals.waiting(obj, "its controller has not reported on it yet")


def address_claim(obj: Manifest) -> Verdict:
    """An IPAddressClaim: has an address been given?"""
    if verdict := signals.begun(obj):
        return verdict
    name = reading.text(obj, ("status", "addressRef", "name"))
    if name:
        return base.current(f"has the IPAddress {name}")
    ready = reading.conditions(obj).get("Ready")
    why = f": {ready}" if ready and not ready.true else ""
    return signals.waiting(obj, f"no address is given yet{why}")


def extension(obj: Manifest) -> Verdict:
    """An ExtensionConfig: did the extension answer what it offers?"""
    if verdict := signals.begun(obj):
        return verdict
    found = reading.conditions(obj)
    verdict = signals.unmet(obj, found, "Discovered")
    return verdict or base.current("Discovered")


HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind(contract.GROUP, "ClusterClass"): Handler(
        cluster_class, Rank.TEMPLATE
    ),
    GroupKind(ADDONS_GROUP, "ClusterResourceSet"): Handler(resource_set),
    GroupKind(ADDONS_GROUP, "ClusterResourceSetBinding"): Handler(base.stored),
    GroupKind(IPAM_GROUP, "IPAddress"): Handler(base.stored),
    GroupKind(IPAM_GROUP, "IPAddressClaim"): Handler(address_claim),
    GroupKind(RUNTIME_GROUP, "ExtensionConfig"): Handler(extension),
}
