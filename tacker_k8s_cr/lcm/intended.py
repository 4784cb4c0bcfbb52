"""The inventory of an instance that is to be as a package says."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.kinds import entries
from tacker_k8s_cr.lcm.prepare import Prepared
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.policy import Policy


def with_package(
    inventory: Inventory,
    package: Package,
    ready: Prepared,
    policy: Policy,
    adopted: frozenset[ObjectRef],
) -> Inventory:
    """The inventory of an instance that is to be as the package says."""
    named = {ObjectRef.of(manifest) for manifest in ready.authored}
    numbers = inventory.numbers
    live = ready.owners.live
    taken = {ref: live[ref].uid for ref in adopted & live.keys()}
    return dataclasses.replace(
        # Known before it is written: that it is not ours by birth would hide
        # it after a crash, with our mark on it.
        inventory.owning(taken),
        policy=policy,
        digest=package.digest,
        met=inventory.met | taken.keys(),
        numbers={
            ref: n for ref, n in numbers.items() if entries.owner(ref) in named
        },
        shared=tuple(sorted(ready.owners.shared)),
        manifests=ready.authored,
        live_names=ready.live_names,
        generated=ready.generated,
        vnfd=ready.vnfd or inventory.vnfd,
        vdus=ready.vdus or inventory.vdus,
        scale_levels=ready.scale_levels,
    )
