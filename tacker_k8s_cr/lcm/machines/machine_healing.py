"""What a heal does about Machines, beside deleting members."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping

from tacker_k8s_cr.lcm.healing import members
from tacker_k8s_cr.lcm.healing import remediation
from tacker_k8s_cr.lcm.healing.selection import MemberLocation
from tacker_k8s_cr.lcm.machines import machine_annotations
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import MemberRef


class MachineHealing:
    """The Machines that Cluster API remediates, and their annotations.

    :ivar annotated: UIDs of the Machines to annotate instead of deleting them.
    """

    def __init__(
        self,
        op: Session,
        before: Inventory,
        selected: Iterable[MemberRef],
        locations: Mapping[str, MemberLocation],
    ):
        self._op = op
        self._before = before
        self._locations = locations
        manifests = manifest_annotations.manifests(before)
        self.annotated = frozenset(
            member.uid
            for member in selected
            if member.uid in locations
            and member.ref.group_kind == remediation.MACHINE
            and member.ref != member.owner
            and members.is_active(locations[member.uid].obj)
            and self._strategy(manifests.get(member.owner, {}))
            == remediation.REMEDIATE
        )

    def _strategy(self, owner: objects.Manifest) -> str:
        """The owner's annotation takes precedence over the request."""
        annotated = objects.annotation(owner, remediation.STRATEGY_ANNOTATION)
        return annotated or self._op.options.machine_heal_strategy

    def find_refusals(self) -> dict[ObjectRef, str]:
        """Return Machines that the annotation would not replace, and why."""
        return remediation.remediation_refusals(
            self._op.cluster, [self._locations[uid] for uid in self.annotated]
        )

    def remove_annotations(
        self, retained_uids: Collection[str]
    ) -> tuple[MemberRef, ...]:
        """Remove those of former operations; return Machines that keep one."""
        return machine_annotations.remove_annotations(
            self._op,
            self._before,
            {remediation.REMEDIATE_MACHINE: retained_uids},
        )

    def annotate(self, locations: Iterable[MemberLocation]) -> None:
        """Annotate those of the members that Cluster API remediates."""
        remediation.request_remediation(
            self._op.ledger.fenced_cluster,
            [
                location.member
                for location in locations
                if location.member.uid in self.annotated
                and not remediation.is_annotated(location.obj)
            ],
            self._op.manager,
            self._op.ledger.guard,
        )
