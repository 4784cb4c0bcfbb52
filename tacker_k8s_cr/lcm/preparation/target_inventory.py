"""The inventory of an instance after a package has been applied."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.lcm.preparation.prepare import Prepared
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
    named = {ObjectRef.of(manifest) for manifest in ready.authored}
    numbers = inventory.replica_overrides
    live = ready.owners.live
    taken = {ref: live[ref].uid for ref in adopted & live.keys()}
    return dataclasses.replace(
        # Recorded before the write: the object has another creator, which its
        # mark of this instance would hide after a crash.
        inventory.with_owned(taken),
        policy=policy,
        digest=package.digest,
        preexisting=inventory.preexisting | taken.keys(),
        replica_overrides={
            ref: n
            for ref, n in numbers.items()
            if topology_replicas.cluster_ref(ref) in named
        },
        shared=tuple(sorted(ready.owners.shared)),
        manifests=ready.authored,
        live_names=ready.live_names,
        generated=ready.generated,
        vnfd=ready.vnfd or inventory.vnfd,
        vdus=ready.vdus or inventory.vdus,
        scale_levels=ready.scale_levels,
    )
