"""What a scale does about Machines, beside setting the replica count."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence

from tacker_k8s_cr.engine.set_replicas import ScaleTarget
from tacker_k8s_cr.lcm.machines import machine_annotations
from tacker_k8s_cr.lcm.machines import machine_selection
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import wait_unlabelled
from tacker_k8s_cr.plan.journal import MemberRef


class MachineScaling:
    """The Machines that a scale deletes first, and their annotations.

    :ivar annotated: Machines with an annotation of this scale or of an
        operation that ended early.
    """

    def __init__(
        self,
        op: Session,
        targets: Sequence[ScaleTarget],
        machines_to_delete: Collection[str],
    ):
        self._op = op
        self._targets = targets
        self._selected = machine_selection.select_machines(
            op, targets, machines_to_delete
        )
        stale = machine_annotations.stale_annotations(op.inventory)
        self._machines = tuple(
            g for item in self._selected for g in item.machines
        )
        self.annotated: tuple[MemberRef, ...] = tuple(
            {
                machine.uid: machine for machine in (*self._machines, *stale)
            }.values()
        )

    def annotate(self) -> None:
        """Annotate exactly the selected Machines.

        Annotations of another selection are removed after the new ones are
        added, since a reduced replica count must always find some.
        """
        machine_annotations.add_delete_annotations(self._op, self._machines)
        machine_annotations.remove_annotations(
            self._op,
            self._op.inventory,
            {
                machine_annotations.DELETE_MACHINE: {
                    machine.uid for machine in self._machines
                }
            },
            unselected={
                u for item in self._selected for u in item.released_uids
            },
        )

    def wait(self) -> None:
        """Wait until exactly the requested Machines remain."""
        wait_unlabelled.wait_replicas(self._op, self._targets)
        machine_selection.wait_deleted(self._op, self._selected)

    def release(self, *, brief: bool = False) -> tuple[MemberRef, ...]:
        """Remove annotations; return the Machines that still have one."""
        return machine_annotations.remove_annotations(
            self._op, self._op.inventory, brief=brief
        )
