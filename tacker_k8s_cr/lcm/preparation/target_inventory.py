"""The inventory of an instance after a package has been applied."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.lcm.preparation.prepared import Prepared
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.plan.inventory import Inventory


def target_inventory(
    inventory: Inventory,
    package: Package,
    ready: Prepared,
    policy: Policy,
    adopted: frozenset[ObjectRef],
) -> Inventory:
    """Return the inventory of the instance after the package is applied."""
    packaged = {ObjectRef.of(manifest) for manifest in ready.authored}
    overrides = inventory.replica_overrides
    live = ready.owners.live
    adopted_uids = {ref: live[ref].uid for ref in adopted & live.keys()}
    return dataclasses.replace(
        # Recorded before the write: after a crash, the instance label would
        # hide that the object was created by another client.
        inventory.with_owned(adopted_uids),
        policy=policy,
        digest=package.digest,
        preexisting=inventory.preexisting | adopted_uids.keys(),
        replica_overrides={
            ref: count
            for ref, count in overrides.items()
            if topology_replicas.cluster_ref(ref) in packaged
        },
        shared=tuple(sorted(ready.owners.shared)),
        manifests=ready.authored,
        live_names=ready.live_names,
        generated=ready.generated,
        vnfd=ready.vnfd or inventory.vnfd,
        vdus=ready.vdus or inventory.vdus,
        scale_levels=ready.scale_levels,
    )
