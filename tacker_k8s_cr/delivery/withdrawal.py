"""Before an instance ends: revoke what was given out, tell the receiver.

Nothing here stops a termination. Failures are logged: a cluster can be
terminated whether or not a receiver listens.
"""

from __future__ import annotations

import logging

from tacker_k8s_cr.delivery import receipt as receipts
from tacker_k8s_cr.delivery import revocation
from tacker_k8s_cr.delivery.delivery import Delivery
from tacker_k8s_cr.delivery.receipt_store import ReceiptStore
from tacker_k8s_cr.delivery.scoped_credential import FAR
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
    far: WorkloadClients = FAR,
    deadline: Deadline,
) -> bool:
    """Revoke scoped credentials, and tell that the instance's Clusters end.

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
    good = _revoked(
        cluster,
        inventory,
        scoped,
        far,
        deadline.at_most(deadline.remaining / 2),
    )
    if delivery is None:
        return good
    return _told(cluster, inventory, namespace, delivery, deadline) and good


def _revoked(
    cluster: Cluster,
    inventory: Inventory,
    scoped: bool,
    far: WorkloadClients,
    deadline: Deadline,
) -> bool:
    wanted = {
        r.cluster_ref for r in receipts.recorded(inventory) if r.has_account
    }
    if scoped:
        wanted.update(receipts.workloads(inventory))
    done = revocation.revoke_clusters(
        cluster, inventory.instance, sorted(wanted), far, deadline
    )
    return done == wanted


def _told(
    cluster: Cluster,
    inventory: Inventory,
    namespace: str,
    delivery: Delivery,
    deadline: Deadline,
) -> bool:
    receiver, instance = delivery.receiver, inventory.instance
    had = [
        r for r in receipts.recorded(inventory) if r.receiver == receiver.id
    ]
    wanted = {*receipts.workloads(inventory), *(r.cluster_ref for r in had)}
    done = revocation.notify_terminated(
        instance, sorted(wanted), receiver, delivery.post, deadline
    )
    if gone := [r for r in had if r.cluster_ref in done]:
        try:
            ReceiptStore(cluster, instance, namespace, deadline).drop(gone)
        except errors.Error as error:
            LOG.warning(
                "%s: the receipts are not forgotten: %s", instance, error
            )
            return False
    return done == wanted
