"""Clusters that end: revoke what was given out, and tell the receiver.

Nothing here raises an error. What cannot be done is logged, and the caller
learns what was done.
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
"""For each notice, and for each revocation, at most."""

Post = Callable[[Receiver, bytes, Deadline], webhook.Accepted]


def revoke_clusters(
    cluster: Cluster,
    instance: str,
    workloads: Collection[Workload],
    far: WorkloadClients,
    deadline: Deadline,
) -> frozenset[Workload]:
    """Those in which no account that was made for the instance is left."""
    done = set()
    for number, (ref, uid) in enumerate(workloads):
        # Each has its share, so that one that is away leaves time for all.
        share = deadline.remaining / (len(workloads) - number)
        act = functools.partial(
            scoped_credential.revoke_all, instance=instance, uid=uid, far=far
        )
        if _revoked(cluster, (ref, uid), act, deadline.at_most(share)):
            done.add((ref, uid))
    return frozenset(done)


def one_revoked(
    cluster: Cluster,
    workload: Workload,
    account: Account,
    far: WorkloadClients,
    deadline: Deadline,
) -> bool:
    """Return whether the account of one receiver no longer exists."""
    act = functools.partial(scoped_credential.revoke, account=account, far=far)
    return _revoked(cluster, workload, act, deadline)


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
            if not _answered(error):
                break
        else:
            done.add((ref, uid))
    return frozenset(done)


def _answered(error: errors.Error) -> bool:
    """Whether a receiver refused just this message, and did so at once."""
    status = error.status if isinstance(error, errors.DeliveryFailed) else 0
    return 300 <= status < 500 and status not in (408, 429)


def _revoked(
    cluster: Cluster,
    workload: Workload,
    act: Callable[..., None],
    deadline: Deadline,
) -> bool:
    ref, _ = workload
    limit = deadline.at_most(SECONDS)
    try:
        # Without the Secret there is no way to the cluster.
        if found := cluster.with_deadline(limit).get(
            kubeconfig_secret.secret_ref(ref)
        ):
            admin: Kubeconfig = kubeconfig_secret.kubeconfig_of(found)
            act(admin, deadline=limit)
    except errors.Error as error:
        LOG.warning(
            "%s: the credential given out is not revoked: %s", ref, error
        )
        return False
    return True
