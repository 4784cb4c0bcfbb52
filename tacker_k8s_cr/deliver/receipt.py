"""What was delivered to whom, as the record keeps it; no credential."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.webhook import Receiver


@dataclasses.dataclass(frozen=True)
class Receipt:
    """A message about a cluster that a receiver took.

    :param url: of the receiver, as it may be shown.
    :param receiver: tells receivers apart whose shown URLs are the same.
    :param message: its id.
    :param fingerprint: of the kubeconfig that was in it.
    :param at: when, in the form of RFC 3339.
    :param mode: whose credential it was.
    :param role: of the account that it belongs to; empty for no account.
    :param expires: when the credential ends, in the same form; empty when
        it does not say so itself.
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

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for the record."""
        return dataclasses.asdict(self)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Receipt:
        return cls(**{**stored, "cluster": ObjectRef(**stored["cluster"])})


def former(
    receipts: Iterable[Receipt], workload: ObjectRef, receiver: Receiver
) -> Receipt | None:
    """The last receipt about a Cluster from this receiver, or None."""
    found = None
    for receipt in receipts:
        if (receipt.cluster, receipt.receiver) == (workload, receiver.id):
            found = receipt
    return found


def latest(receipts: Iterable[Receipt]) -> tuple[Receipt, ...]:
    """The last receipt for each cluster from each receiver.

    Earlier ones were for credentials that the later one replaced.
    """
    kept = {(r.cluster, r.receiver): r for r in receipts}
    return tuple(kept.values())


def without(
    receipts: Iterable[Receipt], receiver: Receiver
) -> tuple[Receipt, ...]:
    """Those of others, once this receiver was told of the end."""
    return tuple(r for r in receipts if r.receiver != receiver.id)
