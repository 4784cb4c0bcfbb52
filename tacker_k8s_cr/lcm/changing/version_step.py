"""Versions of Kubernetes that go ahead of the rest of a change."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr.engine import kubernetes_versions
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.preparation import prepare
from tacker_k8s_cr.lcm.preparation.prepare import Prepared
from tacker_k8s_cr.lcm.scaling import machine_annotations
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.inventory import Phase

WHY = "its version of Kubernetes changes first, the rest when it has that"


@dataclasses.dataclass(frozen=True)
class VersionStep:
    """A step of a change that brings versions, and nothing else.

    :param inventory: of the instance as that step wants it.
    :param ready: what the step writes, checked.
    """

    inventory: Inventory
    ready: Prepared

    @property
    def rising(self) -> frozenset[ObjectRef]:
        """Objects that get another version."""
        return frozenset(item.ref for item in self.ready.items)


def version_step(
    op: Session,
    before: Inventory,
    after: Prepared,
    digest: str,
    registry: Registry,
) -> VersionStep | None:
    """Return the step of a change that needs one, or None.

    Only the writes of the step are checked: the other objects keep their
    former state, which the new package may correct.

    :param after: the package that is to be applied. Its order is that of the
        step: workers after their control planes.
    :param digest: of that package.
    """
    if op.options.kubernetes_upgrade != "before_change":
        return None
    past = before.rollback_point(digest)
    step, rising = kubernetes_versions.with_new_versions_only(
        past.manifests, before.manifests, after.authored
    )
    if not rising:
        return None
    inventory = dataclasses.replace(
        before,
        manifests=tuple(step.values()),
        phase=Phase.CHANGING,
        previous_package=past,
        former_replicas={},
        former_limits={},
        healing=None,
    )
    ready = prepare.prepare_from_record(op, inventory, before, only=rising)
    ready = dataclasses.replace(ready, order=after.order)
    return VersionStep(inventory, ready)


def apply_versions(op: Session, step: VersionStep) -> None:
    """Write the versions, and wait until the workload clusters have them."""
    ready = step.ready
    stages = plan.instantiate(
        ready.items,
        ready.registry,
        ready.owners.live,
        ready.owners.terminating,
        ready.order,
    )
    stay = machine_annotations.remove_annotations(op, op.inventory)
    inventory = dataclasses.replace(step.inventory, machines_to_delete=stay)
    execute.execute(op, stages, ready, inventory)
