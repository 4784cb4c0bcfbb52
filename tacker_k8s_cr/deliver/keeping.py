"""Receipts in an instance's record."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import lock
from tacker_k8s_cr import record
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.deliver import receipt as receipts
from tacker_k8s_cr.deliver.receipt import Receipt
from tacker_k8s_cr.webhook import Receiver


def add(
    cluster: Cluster,
    instance: str,
    namespace: str,
    receipt: Receipt,
    deadline: Deadline,
) -> None:
    """Keep a receipt; it takes the place of a former one."""
    _change(
        cluster,
        instance,
        namespace,
        deadline,
        lambda former: receipts.latest([*former, receipt]),
    )


def drop(
    cluster: Cluster,
    instance: str,
    namespace: str,
    receiver: Receiver,
    deadline: Deadline,
) -> None:
    """Forget what a receiver had: it was told that there is no more."""
    _change(
        cluster,
        instance,
        namespace,
        deadline,
        lambda former: receipts.without(former, receiver),
    )


def _change(
    cluster: Cluster,
    instance: str,
    namespace: str,
    deadline: Deadline,
    changed: Callable[[Sequence[Receipt]], Sequence[Receipt]],
) -> None:
    with lock.locked(cluster, instance, namespace, deadline):
        entry = record.read(cluster, instance, namespace)
        if entry is None:
            raise errors.InstanceUnknown(instance, namespace)
        kept = changed([Receipt.of(r) for r in entry.inventory.receipts])
        record.write(
            cluster,
            dataclasses.replace(
                entry.inventory,
                receipts=tuple(item.as_dict() for item in kept),
            ),
            entry,
        )
