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
    """

    cluster: ObjectRef
    url: str
    receiver: str
    message: str
    fingerprint: str
    at: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for the record."""
        return dataclasses.asdict(self)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Receipt:
        return cls(**{**stored, "cluster": ObjectRef(**stored["cluster"])})


def sent_before(
    receipts: Iterable[Receipt], receiver: Receiver, message: str
) -> Receipt | None:
    """The receipt for this message from this receiver, or None."""
    for receipt in receipts:
        if (receipt.receiver, receipt.message) == (receiver.id, message):
            return receipt
    return None


def latest(receipts: Iterable[Receipt]) -> tuple[Receipt, ...]:
    """The last receipt for each cluster from each receiver.

    Earlier ones were for credentials that the later one replaced.
    """
    kept = {(r.cluster, r.receiver): r for r in receipts}
    return tuple(kept.values())
