"""Store receipts in an instance's record."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.delivery import receipt as receipts
from tacker_k8s_cr.delivery.receipt import Receipt
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.state import lock
from tacker_k8s_cr.state import store


@dataclasses.dataclass(frozen=True)
class ReceiptStore:
    """Adds and removes the receipts in an instance's record."""

    cluster: Cluster
    instance: str
    namespace: str
    deadline: Deadline

    def add(self, receipt: Receipt) -> None:
        """Store a receipt; it replaces the previous one."""
        self._change(lambda former: receipts.latest([*former, receipt]))

    def drop(self, dropped: Collection[Receipt]) -> None:
        """Remove receipts whose receivers were notified of the end."""
        self._change(lambda former: receipts.without(former, dropped))

    def _change(
        self, change: Callable[[Sequence[Receipt]], Sequence[Receipt]]
    ) -> None:
        with lock.locked(
            self.cluster, self.instance, self.namespace, self.deadline
        ) as held:
            cluster = self.cluster.with_deadline(held.limit)
            entry = store.read(cluster, self.instance, self.namespace)
            if entry is None:
                raise errors.InstanceNotFound(self.instance, self.namespace)
            remaining = change(receipts.recorded(entry.inventory))
            store.write(
                cluster,
                dataclasses.replace(
                    entry.inventory,
                    receipts=tuple(item.as_dict() for item in remaining),
                ),
                entry,
            )
