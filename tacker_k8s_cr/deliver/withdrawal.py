"""Before an instance ends: tell the receiver, revoke what it was given.

Nothing here stops a termination. What cannot be done is logged: who ends a
cluster must be able to, whether or not somebody listens.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import functools
import logging

from tacker_k8s_cr import errors
from tacker_k8s_cr import record
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.deliver import keeping
from tacker_k8s_cr.deliver import message
from tacker_k8s_cr.deliver import scoped as credentials
from tacker_k8s_cr.deliver import secret
from tacker_k8s_cr.deliver.access import Mode
from tacker_k8s_cr.deliver.account import Account
from tacker_k8s_cr.deliver.delivery import CLUSTER
from tacker_k8s_cr.deliver.delivery import Delivery
from tacker_k8s_cr.deliver.receipt import Receipt
from tacker_k8s_cr.deliver.scoped import FAR
from tacker_k8s_cr.deliver.scoped import Far
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.objects import ObjectRef

LOG = logging.getLogger(__name__)

SECONDS = 30.0
"""For each notice, and for each revocation."""


def withdraw(
    cluster: Cluster,
    instance: str,
    delivery: Delivery | None,
    *,
    namespace: str = "default",
    far: Far = FAR,
    deadline: Deadline,
) -> bool:
    """Tell that the instance's Clusters end, and revoke scoped credentials.

    Whether all of it was done; what was not is in the log, and no error is
    raised. A receiver that was told gets the credential again, should the
    instance live on.

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
    told = True
    if delivery:
        receiver = delivery.receiver
        told = _told(inventory, delivery, deadline)
        if told and inventory.receipts:
            told = _tried(
                f"{instance}: the receipts are not forgotten",
                lambda: keeping.drop(
                    cluster, instance, namespace, receiver, deadline
                ),
            )
    scoped = delivery is not None and delivery.access.scoped
    return _revoked(cluster, inventory, scoped, far, deadline) and told


def _told(
    inventory: Inventory, delivery: Delivery, deadline: Deadline
) -> bool:
    receiver = delivery.receiver
    done = True
    for workload, uid in _clusters(inventory):
        body = message.terminated(inventory.instance, workload, uid)
        done &= _tried(
            f"{workload}: {receiver.shown} is not told of its end",
            functools.partial(
                delivery.post, receiver, body, deadline.sooner(SECONDS)
            ),
        )
    return done


def _revoked(
    cluster: Cluster,
    inventory: Inventory,
    scoped: bool,
    far: Far,
    deadline: Deadline,
) -> bool:
    receipts = [Receipt.of(item) for item in inventory.receipts]
    had = {r.cluster for r in receipts if r.mode == Mode.SCOPED.value}
    done = True
    for workload, uid in _clusters(inventory):
        if scoped or workload in had:
            account = Account(inventory.instance, uid)
            done &= _tried(
                f"{workload}: the credential given out is not revoked",
                functools.partial(
                    _revoke,
                    cluster,
                    workload,
                    account,
                    far,
                    deadline.sooner(SECONDS),
                ),
            )
    return done


def _clusters(inventory: Inventory) -> Iterator[tuple[ObjectRef, str]]:
    for workload, uid in sorted(inventory.owned.items()):
        if workload.group_kind == CLUSTER:
            yield workload, uid


def _revoke(
    cluster: Cluster,
    workload: ObjectRef,
    account: Account,
    far: Far,
    deadline: Deadline,
) -> None:
    # Without the Secret there is no way to the cluster, and it had none.
    if found := cluster.get(secret.secret_ref(workload)):
        admin = secret.kubeconfig_of(found)
        credentials.revoke(admin, account, far, deadline)


def _tried(what: str, act: Callable[[], object]) -> bool:
    try:
        act()
    except errors.Error as error:
        LOG.warning("%s: %s", what, error)
        return False
    return True
