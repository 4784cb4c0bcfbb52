"""Receipts in an instance's record."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.deliver import receipt as receipts
from tacker_k8s_cr.deliver.receipt import Receipt
from tacker_k8s_cr.recording import lock
from tacker_k8s_cr.recording import record


@dataclasses.dataclass(frozen=True)
class Book:
    """An instance's record, as the place of its receipts."""

    cluster: Cluster
    instance: str
    namespace: str
    deadline: Deadline

    def add(self, receipt: Receipt) -> None:
        """Keep a receipt; it takes the place of a former one."""
        self._change(lambda former: receipts.latest([*former, receipt]))

    def drop(self, gone: Collection[Receipt]) -> None:
        """Forget some: who gave them was told that there is no more."""
        self._change(lambda former: receipts.without(former, gone))

    def _change(
        self, changed: Callable[[Sequence[Receipt]], Sequence[Receipt]]
    ) -> None:
        with lock.locked(
            self.cluster, self.instance, self.namespace, self.deadline
        ) as held:
            cluster = self.cluster.until(held.limit)
            entry = record.read(cluster, self.instance, self.namespace)
            if entry is None:
                raise errors.InstanceUnknown(self.instance, self.namespace)
            kept = changed(receipts.recorded(entry.inventory))
            record.write(
                cluster,
                dataclasses.replace(
                    entry.inventory,
                    receipts=tuple(item.as_dict() for item in kept),
                ),
                entry,
            )
