"""Revoke credentials and notify the receiver before an instance terminates.

Nothing here stops a termination. Failures are logged: a cluster can be
terminated whether or not a receiver is reachable.
"""

from __future__ import annotations

import logging

from tacker_k8s_cr.delivery import receipt as receipts
from tacker_k8s_cr.delivery import revocation
from tacker_k8s_cr.delivery.delivery_settings import Delivery
from tacker_k8s_cr.delivery.receipt_store import ReceiptStore
from tacker_k8s_cr.delivery.scoped_credential import DEFAULT_CLIENTS
from tacker_k8s_cr.delivery.scoped_credential import WorkloadClients
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.state import store

LOG = logging.getLogger(__name__)


def withdraw(
    cluster: Cluster,
    instance: str,
    delivery: Delivery | None,
    *,
    namespace: str = "default",
    workload_clients: WorkloadClients = DEFAULT_CLIENTS,
    deadline: Deadline,
) -> bool:
    """Revoke scoped credentials, and notify that the Clusters terminate.

    Return whether all of it was done; failures are logged, and no error is
    raised. A receiver that was notified gets the credential again if the
    instance is not terminated after all. Half of the time is for revoking:
    a receiver that does not answer leaves no valid credential.

    :param delivery: None if no receiver is to be notified.
    """
    cluster = cluster.with_deadline(deadline)
    try:
        entry = store.read(cluster, instance, namespace)
    except errors.Error as error:
        LOG.warning("%s: terminate notification not sent: %s", instance, error)
        return False
    if entry is None:
        return True
    inventory = entry.inventory
    scoped = delivery is not None and delivery.access.scoped
    all_revoked = _revoke_all(
        cluster,
        inventory,
        scoped,
        workload_clients,
        deadline.at_most(deadline.remaining / 2),
    )
    if delivery is None:
        return all_revoked
    return (
        _notify_terminated(cluster, inventory, namespace, delivery, deadline)
        and all_revoked
    )


def _revoke_all(
    cluster: Cluster,
    inventory: Inventory,
    scoped: bool,
    workload_clients: WorkloadClients,
    deadline: Deadline,
) -> bool:
    workloads = {
        r.cluster_ref for r in receipts.recorded(inventory) if r.has_account
    }
    if scoped:
        workloads.update(receipts.workloads(inventory))
    done = revocation.revoke_clusters(
        cluster,
        inventory.instance,
        sorted(workloads),
        workload_clients,
        deadline,
    )
    return done == workloads


def _notify_terminated(
    cluster: Cluster,
    inventory: Inventory,
    namespace: str,
    delivery: Delivery,
    deadline: Deadline,
) -> bool:
    receiver, instance = delivery.receiver, inventory.instance
    delivered = [
        r for r in receipts.recorded(inventory) if r.receiver == receiver.id
    ]
    workloads = {
        *receipts.workloads(inventory),
        *(r.cluster_ref for r in delivered),
    }
    done = revocation.notify_terminated(
        instance, sorted(workloads), receiver, delivery.post, deadline
    )
    if notified := [r for r in delivered if r.cluster_ref in done]:
        try:
            ReceiptStore(cluster, instance, namespace, deadline).drop(notified)
        except errors.Error as error:
            LOG.warning(
                "%s: could not remove delivery receipts: %s", instance, error
            )
            return False
    return done == workloads
