"""Upgrade Kubernetes versions before the rest of a change."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr.engine import kubernetes_versions
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.machines import machine_annotations
from tacker_k8s_cr.lcm.preparation import prepare_from_record
from tacker_k8s_cr.lcm.preparation.prepared import Prepared
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase

REASON = "its Kubernetes version is upgraded before all other changes"


@dataclasses.dataclass(frozen=True)
class VersionStep:
    """A step of a change that upgrades Kubernetes versions only.

    :param inventory: of the instance after the step.
    :param ready: the checked objects that the step writes.
    """

    inventory: Inventory
    ready: Prepared

    @property
    def upgraded(self) -> frozenset[ObjectRef]:
        """Objects that get another Kubernetes version."""
        return frozenset(item.ref for item in self.ready.items)


def plan_version_step(
    op: Session,
    before: Inventory,
    after: Prepared,
    digest: str,
    registry: Registry,
) -> VersionStep | None:
    """Return the version step of a change, or None if it needs none.

    Only the writes of the step are checked: the other objects keep their
    former state, which the new package may correct.

    :param after: the package that will be applied. The step has the same
        order: workers after their control planes.
    :param digest: of that package.
    """
    if op.options.kubernetes_upgrade != "before_change":
        return None
    previous = before.rollback_point(digest)
    step, upgraded = kubernetes_versions.with_new_versions_only(
        previous.manifests, before.manifests, after.authored
    )
    if not upgraded:
        return None
    inventory = dataclasses.replace(
        before,
        manifests=tuple(step.values()),
        phase=Phase.CHANGING,
        previous_package=previous,
        former_replicas={},
        former_limits={},
        healing=None,
    )
    ready = prepare_from_record.prepare_from_record(
        op, inventory, before, only=upgraded
    )
    ready = dataclasses.replace(ready, order=after.order)
    return VersionStep(inventory, ready)


def apply_versions(op: Session, step: VersionStep) -> None:
    """Apply the versions, and wait until the workload clusters have them."""
    ready = step.ready
    stages = plan.instantiate(
        ready.items,
        ready.registry,
        ready.owners.live,
        ready.owners.terminating,
        ready.order,
    )
    annotated = machine_annotations.remove_annotations(op, op.inventory)
    inventory = dataclasses.replace(
        step.inventory, machines_to_delete=annotated
    )
    execute.execute(op, stages, ready, inventory)
