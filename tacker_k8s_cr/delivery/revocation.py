"""Revoke the credentials of terminated Clusters, and notify the receiver.

Nothing here raises an error. Failures are logged, and the functions return
what was done.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
import functools
import logging

from tacker_k8s_cr.delivery import kubeconfig_secret
from tacker_k8s_cr.delivery import message
from tacker_k8s_cr.delivery import scoped_credential
from tacker_k8s_cr.delivery import webhook
from tacker_k8s_cr.delivery.receipt import Workload
from tacker_k8s_cr.delivery.scoped_credential import WorkloadClients
from tacker_k8s_cr.delivery.service_account import Account
from tacker_k8s_cr.delivery.webhook import Receiver
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline

LOG = logging.getLogger(__name__)

SECONDS = 30.0
"""Maximum seconds for each notification and each revocation."""

Post = Callable[[Receiver, bytes, Deadline], webhook.Accepted]


def revoke_clusters(
    cluster: Cluster,
    instance: str,
    workloads: Collection[Workload],
    clients: WorkloadClients,
    deadline: Deadline,
) -> frozenset[Workload]:
    """Return the Clusters without any account that the instance created."""
    done = set()
    for number, (ref, uid) in enumerate(workloads):
        # An unreachable cluster uses no more than its share of the time.
        share = deadline.remaining / (len(workloads) - number)
        revoke = functools.partial(
            scoped_credential.revoke_all,
            instance=instance,
            uid=uid,
            clients=clients,
        )
        if _revoke(cluster, (ref, uid), revoke, deadline.at_most(share)):
            done.add((ref, uid))
    return frozenset(done)


def revoke_one(
    cluster: Cluster,
    workload: Workload,
    account: Account,
    clients: WorkloadClients,
    deadline: Deadline,
) -> bool:
    """Return whether the account of one receiver no longer exists."""
    revoke = functools.partial(
        scoped_credential.revoke, account=account, clients=clients
    )
    return _revoke(cluster, workload, revoke, deadline)


def notify_terminated(
    instance: str,
    workloads: Collection[Workload],
    receiver: Receiver,
    post: Post,
    deadline: Deadline,
) -> frozenset[Workload]:
    """Return the Clusters whose end the receiver was notified of.

    After one notification without an answer no other is sent.
    """
    done = set()
    for ref, uid in workloads:
        body = message.terminated_message(instance, ref, uid)
        try:
            post(receiver, body, deadline.at_most(SECONDS))
        except errors.Error as error:
            LOG.warning(
                "%s: terminate notification to %s failed: %s",
                ref,
                receiver.shown,
                error,
            )
            if not _was_refused_at_once(error):
                break
        else:
            done.add((ref, uid))
    return frozenset(done)


def _was_refused_at_once(error: errors.Error) -> bool:
    """Whether a receiver refused only this message, and at once."""
    status = error.status if isinstance(error, errors.DeliveryFailed) else 0
    return 300 <= status < 500 and status not in (408, 429)


def _revoke(
    cluster: Cluster,
    workload: Workload,
    revoke: Callable[..., None],
    deadline: Deadline,
) -> bool:
    ref, _ = workload
    limit = deadline.at_most(SECONDS)
    try:
        # Without the Secret the cluster cannot be reached.
        if secret := cluster.with_deadline(limit).get(
            kubeconfig_secret.secret_ref(ref)
        ):
            admin: Kubeconfig = kubeconfig_secret.kubeconfig_of(secret)
            revoke(admin, deadline=limit)
    except errors.Error as error:
        LOG.warning(
            "%s: the delivered credential was not revoked: %s", ref, error
        )
        return False
    return True
