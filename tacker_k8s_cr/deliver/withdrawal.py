"""Before an instance ends: revoke what was given out, tell the receiver.

Nothing here stops a termination. What cannot be done is logged: who ends a
cluster must be able to, whether or not somebody listens.
"""

from __future__ import annotations

import logging

from tacker_k8s_cr import errors
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.deliver import ending
from tacker_k8s_cr.deliver import receipt as receipts
from tacker_k8s_cr.deliver.delivery import Delivery
from tacker_k8s_cr.deliver.keeping import Book
from tacker_k8s_cr.deliver.scoped import FAR
from tacker_k8s_cr.deliver.scoped import Far
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.recording import record

LOG = logging.getLogger(__name__)


def withdraw(
    cluster: Cluster,
    instance: str,
    delivery: Delivery | None,
    *,
    namespace: str = "default",
    far: Far = FAR,
    deadline: Deadline,
) -> bool:
    """Revoke scoped credentials, and tell that the instance's Clusters end.

    Whether all of it was done; what was not is in the log, and no error is
    raised. A receiver that was told gets the credential again, should the
    instance live on. Half of the time is for revoking: a receiver that does
    not answer leaves no credential good.

    :param delivery: None when nobody is to be told.
    """
    cluster = cluster.until(deadline)
    try:
        entry = record.read(cluster, instance, namespace)
    except errors.Error as error:
        LOG.warning("%s: nobody is told of its end: %s", instance, error)
        return False
    if entry is None:
        return True
    inventory = entry.inventory
    scoped = delivery is not None and delivery.access.scoped
    good = _revoked(
        cluster, inventory, scoped, far, deadline.sooner(deadline.left / 2)
    )
    if delivery is None:
        return good
    return _told(cluster, inventory, namespace, delivery, deadline) and good


def _revoked(
    cluster: Cluster,
    inventory: Inventory,
    scoped: bool,
    far: Far,
    deadline: Deadline,
) -> bool:
    wanted = {r.about for r in receipts.recorded(inventory) if r.has_account}
    if scoped:
        wanted.update(receipts.workloads(inventory))
    done = ending.revoked(
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
    wanted = {*receipts.workloads(inventory), *(r.about for r in had)}
    done = ending.told(
        instance, sorted(wanted), receiver, delivery.post, deadline
    )
    if gone := [r for r in had if r.about in done]:
        try:
            Book(cluster, instance, namespace, deadline).drop(gone)
        except errors.Error as error:
            LOG.warning(
                "%s: the receipts are not forgotten: %s", instance, error
            )
            return False
    return done == wanted
