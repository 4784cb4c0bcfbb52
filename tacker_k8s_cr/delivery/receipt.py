"""Receipts of deliveries in the record; without credentials."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_k8s_cr.delivery.credential_mode import CredentialKind
from tacker_k8s_cr.delivery.credential_mode import CredentialMode
from tacker_k8s_cr.delivery.webhook import Receiver
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory

CLUSTER = GroupKind("cluster.x-k8s.io", "Cluster")

Workload = tuple[ObjectRef, str]
"""A Cluster object and its UID."""


@dataclasses.dataclass(frozen=True)
class Receipt:
    """A message about a Cluster that a receiver accepted.

    One without a message notes that an account is about to be created.

    :param url: of the receiver, as it may be shown.
    :param receiver: id that distinguishes receivers with the same shown URL.
    :param message: its id.
    :param fingerprint: of the kubeconfig that was in it.
    :param at: when, in the form of RFC 3339.
    :param credential: whose credential it was.
    :param role: of the account that it belongs to; empty for no account.
    :param expires: when the credential expires, in the same form; empty if it
        does not contain that.
    :param uid: of the Cluster object.
    :param unrevoked: an account that was created before, for another mode,
        still exists.
    """

    cluster: ObjectRef
    url: str
    receiver: str
    message: str
    fingerprint: str
    at: str
    credential: str = "admin"
    role: str = ""
    expires: str = ""
    uid: str = ""
    unrevoked: bool = False

    @property
    def cluster_ref(self) -> Workload:
        """The Cluster object, by UID: its name may be used again."""
        return self.cluster, self.uid

    @property
    def has_account(self) -> bool:
        """Return whether an account in the cluster can be revoked."""
        return self.unrevoked or self.credential == CredentialKind.SCOPED.value

    def matches(self, fingerprint: str, access: CredentialMode) -> bool:
        """Return whether the receiver has this kubeconfig, of this mode."""
        role = access.role if access.scoped else ""
        return (self.fingerprint, self.credential, self.role) == (
            fingerprint,
            access.credential.value,
            role,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for the record."""
        return {**dataclasses.asdict(self), "cluster": self.cluster._asdict()}

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Receipt:
        return cls(**{**stored, "cluster": ObjectRef(**stored["cluster"])})


def recorded(inventory: Inventory) -> tuple[Receipt, ...]:
    """Return the receipts in a record."""
    return tuple(Receipt.of(item) for item in inventory.receipts)


def workloads(inventory: Inventory) -> list[Workload]:
    """Return the Clusters that an instance owns, by name."""
    owned = sorted(inventory.owned.items())
    return [one for one in owned if one[0].group_kind == CLUSTER]


def orphaned_receipts(inventory: Inventory) -> tuple[Receipt, ...]:
    """Return those of Clusters that the instance no longer owns."""
    owned = set(workloads(inventory))
    return tuple(r for r in recorded(inventory) if r.cluster_ref not in owned)


def previous_receipt(
    receipts: Iterable[Receipt], workload: Workload, receiver: Receiver
) -> Receipt | None:
    """Return the last receipt about a Cluster from this receiver."""
    found = None
    for receipt in receipts:
        if (receipt.cluster_ref, receipt.receiver) == (workload, receiver.id):
            found = receipt
    return found


def latest(receipts: Iterable[Receipt]) -> tuple[Receipt, ...]:
    """Return the last receipt for each Cluster from each receiver.

    Earlier ones were for credentials that the last one replaced.
    """
    by_receiver = {(r.cluster_ref, r.receiver): r for r in receipts}
    return tuple(by_receiver.values())


def without(
    receipts: Iterable[Receipt], dropped: Iterable[Receipt]
) -> tuple[Receipt, ...]:
    """Return the receipts without these Clusters and receivers."""
    keys = {(r.cluster_ref, r.receiver) for r in dropped}
    return tuple(
        r for r in receipts if (r.cluster_ref, r.receiver) not in keys
    )
