"""What was delivered to whom, as the record keeps it; no credential."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_k8s_cr.deliver.access import Access
from tacker_k8s_cr.deliver.access import Mode
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.webhook import Receiver

CLUSTER = GroupKind("cluster.x-k8s.io", "Cluster")

Workload = tuple[ObjectRef, str]
"""A Cluster object and its UID."""


@dataclasses.dataclass(frozen=True)
class Receipt:
    """A message about a cluster that a receiver took.

    One without a message is a mark: an account is about to be made.

    :param url: of the receiver, as it may be shown.
    :param receiver: tells receivers apart whose shown URLs are the same.
    :param message: its id.
    :param fingerprint: of the kubeconfig that was in it.
    :param at: when, in the form of RFC 3339.
    :param mode: whose credential it was.
    :param role: of the account that it belongs to; empty for no account.
    :param expires: when the credential ends, in the same form; empty when
        it does not say so itself.
    :param uid: of the Cluster object.
    :param unrevoked: an account that was made before, for another mode, is
        still there.
    """

    cluster: ObjectRef
    url: str
    receiver: str
    message: str
    fingerprint: str
    at: str
    mode: str = "admin"
    role: str = ""
    expires: str = ""
    uid: str = ""
    unrevoked: bool = False

    @property
    def about(self) -> Workload:
        """The Cluster object; one of the same name may come after it."""
        return self.cluster, self.uid

    @property
    def has_account(self) -> bool:
        """Whether there is something in the cluster that can be revoked."""
        return self.unrevoked or self.mode == Mode.SCOPED.value

    def says(self, fingerprint: str, access: Access) -> bool:
        """Whether the receiver has just this, and knows whose it is."""
        role = access.role if access.scoped else ""
        return (self.fingerprint, self.mode, self.role) == (
            fingerprint,
            access.mode.value,
            role,
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for the record."""
        return {**dataclasses.asdict(self), "cluster": self.cluster._asdict()}

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Receipt:
        return cls(**{**stored, "cluster": ObjectRef(**stored["cluster"])})


def recorded(inventory: Inventory) -> tuple[Receipt, ...]:
    """Those in a record.

    One from a time when no UID was kept is of the Cluster that is there.
    """
    found = (Receipt.of(item) for item in inventory.receipts)
    return tuple(
        dataclasses.replace(r, uid=r.uid or inventory.owned.get(r.cluster, ""))
        for r in found
    )


def workloads(inventory: Inventory) -> list[Workload]:
    """The Clusters that an instance owns, in the order of their names."""
    owned = sorted(inventory.owned.items())
    return [one for one in owned if one[0].group_kind == CLUSTER]


def outlived(inventory: Inventory) -> tuple[Receipt, ...]:
    """Those of Clusters that the instance owns no longer."""
    there = set(workloads(inventory))
    return tuple(r for r in recorded(inventory) if r.about not in there)


def former(
    receipts: Iterable[Receipt], workload: Workload, receiver: Receiver
) -> Receipt | None:
    """The last receipt about a Cluster from this receiver, or None."""
    found = None
    for receipt in receipts:
        if (receipt.about, receipt.receiver) == (workload, receiver.id):
            found = receipt
    return found


def latest(receipts: Iterable[Receipt]) -> tuple[Receipt, ...]:
    """The last receipt for each cluster from each receiver.

    Earlier ones were for credentials that the later one replaced.
    """
    kept = {(r.about, r.receiver): r for r in receipts}
    return tuple(kept.values())


def without(
    receipts: Iterable[Receipt], gone: Iterable[Receipt]
) -> tuple[Receipt, ...]:
    """Those about other Clusters, or from others, than these."""
    keys = {(r.about, r.receiver) for r in gone}
    return tuple(r for r in receipts if (r.about, r.receiver) not in keys)
