"""Deliver the kubeconfig of each Cluster of an instance, and record it."""

from __future__ import annotations

from collections.abc import Collection
import dataclasses

from tacker_k8s_cr.delivery import deliver_cluster
from tacker_k8s_cr.delivery import message
from tacker_k8s_cr.delivery import receipt as receipts
from tacker_k8s_cr.delivery import revocation
from tacker_k8s_cr.delivery.delivery_settings import Delivery
from tacker_k8s_cr.delivery.receipt import Receipt
from tacker_k8s_cr.delivery.receipt import Workload
from tacker_k8s_cr.delivery.receipt_store import ReceiptStore
from tacker_k8s_cr.delivery.service_account import Account
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.state import store

END_SECONDS = 60.0
"""Seconds for deleted Clusters, before others are delivered."""


def deliver(
    cluster: Cluster,
    instance: str,
    delivery: Delivery,
    *,
    namespace: str = "default",
    deadline: Deadline,
) -> tuple[Receipt, ...]:
    """Post the kubeconfig of every Cluster that the instance owns.

    A credential that the receiver has by the record is not sent again, so
    that a repeat after an error continues where it stopped. The receiver is
    notified of Clusters that the instance no longer owns.

    :param namespace: of the instance's record.
    """
    cluster = cluster.with_deadline(deadline)
    entry = store.read(cluster, instance, namespace)
    if entry is None:
        raise errors.InstanceNotFound(instance, namespace)
    receipt_store = ReceiptStore(cluster, instance, namespace, deadline)
    _end_deliveries(
        receipt_store, receipts.orphaned_receipts(entry.inventory), delivery
    )
    former = receipts.recorded(entry.inventory)
    done = []
    for workload in receipts.workloads(entry.inventory):
        before = receipts.previous_receipt(former, workload, delivery.receiver)
        if delivery.access.scoped and not (before and before.has_account):
            before = _announce_account(receipt_store, workload, delivery)
        receipt = deliver_cluster.deliver_cluster(
            receipt_store, workload, delivery, before
        )
        if receipt != before:
            receipt_store.add(receipt)
        if receipt.unrevoked:
            receipt = _revoke_previous(receipt_store, receipt, delivery)
        done.append(receipt)
    return tuple(done)


def _end_deliveries(
    receipt_store: ReceiptStore,
    orphaned: Collection[Receipt],
    delivery: Delivery,
) -> None:
    """Revoke credentials of deleted Clusters, notify, and drop receipts."""
    receiver = delivery.receiver
    limit = receipt_store.deadline.at_most(END_SECONDS)
    revoked = revocation.revoke_clusters(
        receipt_store.cluster,
        receipt_store.instance,
        sorted({r.cluster_ref for r in orphaned if r.has_account}),
        delivery.workload_clients,
        limit.at_most(limit.remaining / 2),
    )
    notified = revocation.notify_terminated(
        receipt_store.instance,
        sorted({r.cluster_ref for r in orphaned if r.receiver == receiver.id}),
        receiver,
        delivery.post,
        limit,
    )
    done = [
        r
        for r in orphaned
        if (r.cluster_ref in revoked or not r.has_account)
        # A receiver that is no longer configured cannot be notified.
        and (r.cluster_ref in notified or r.receiver != receiver.id)
    ]
    if done:
        receipt_store.drop(done)


def _announce_account(
    receipt_store: ReceiptStore, workload: Workload, delivery: Delivery
) -> Receipt:
    """Store a receipt before an account is created, so it is not lost."""
    ref, uid = workload
    receiver, access = delivery.receiver, delivery.access
    receipt = Receipt(
        ref,
        receiver.shown,
        receiver.id,
        message="",
        fingerprint="",
        at=message.rfc3339(delivery.timestamp),
        credential=access.credential.value,
        role=access.role,
        uid=uid,
    )
    receipt_store.add(receipt)
    return receipt


def _revoke_previous(
    receipt_store: ReceiptStore, receipt: Receipt, delivery: Delivery
) -> Receipt:
    """Revoke the receiver's previous credential; a failure stays recorded."""
    account = Account(receipt_store.instance, receipt.uid, receipt.receiver)
    if not revocation.revoke_one(
        receipt_store.cluster,
        receipt.cluster_ref,
        account,
        delivery.workload_clients,
        receipt_store.deadline,
    ):
        return receipt
    receipt = dataclasses.replace(receipt, unrevoked=False)
    receipt_store.add(receipt)
    return receipt
