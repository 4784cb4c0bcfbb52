"""Clusters that end: revoke what was given out, and tell the receiver.

Nothing here raises an error. What cannot be done is logged, and the caller
learns what was done.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
import functools
import logging

from tacker_k8s_cr import errors
from tacker_k8s_cr import webhook
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.deliver import message
from tacker_k8s_cr.deliver import scoped
from tacker_k8s_cr.deliver import secret
from tacker_k8s_cr.deliver.account import Account
from tacker_k8s_cr.deliver.receipt import Workload
from tacker_k8s_cr.deliver.scoped import Far
from tacker_k8s_cr.kubeconfig import Kubeconfig
from tacker_k8s_cr.webhook import Receiver

LOG = logging.getLogger(__name__)

SECONDS = 30.0
"""For each notice, and for each revocation, at most."""

Post = Callable[[Receiver, bytes, Deadline], webhook.Taken]


def revoked(
    cluster: Cluster,
    instance: str,
    workloads: Collection[Workload],
    far: Far,
    deadline: Deadline,
) -> frozenset[Workload]:
    """Those in which no account that was made for the instance is left."""
    done = set()
    for number, (ref, uid) in enumerate(workloads):
        # Each has its share, so that one that is away leaves time for all.
        share = deadline.left / (len(workloads) - number)
        act = functools.partial(
            scoped.revoke_all, instance=instance, uid=uid, far=far
        )
        if _revoked(cluster, (ref, uid), act, deadline.sooner(share)):
            done.add((ref, uid))
    return frozenset(done)


def one_revoked(
    cluster: Cluster,
    workload: Workload,
    account: Account,
    far: Far,
    deadline: Deadline,
) -> bool:
    """Whether the account of one receiver is not there any more."""
    act = functools.partial(scoped.revoke, account=account, far=far)
    return _revoked(cluster, workload, act, deadline)


def told(
    instance: str,
    workloads: Collection[Workload],
    receiver: Receiver,
    post: Post,
    deadline: Deadline,
) -> frozenset[Workload]:
    """Those whose end the receiver was told.

    After one notice without an answer no other is sent.
    """
    done = set()
    for ref, uid in workloads:
        body = message.terminated(instance, ref, uid)
        try:
            post(receiver, body, deadline.sooner(SECONDS))
        except errors.Error as error:
            LOG.warning(
                "%s: %s is not told of its end: %s", ref, receiver.shown, error
            )
            if not _answered(error):
                break
        else:
            done.add((ref, uid))
    return frozenset(done)


def _answered(error: errors.Error) -> bool:
    """Whether a receiver refused just this message, and did so at once."""
    status = error.status if isinstance(error, errors.NotDelivered) else 0
    return 300 <= status < 500 and status not in (408, 429)


def _revoked(
    cluster: Cluster,
    workload: Workload,
    act: Callable[..., None],
    deadline: Deadline,
) -> bool:
    ref, _ = workload
    limit = deadline.sooner(SECONDS)
    try:
        # Without the Secret there is no way to the cluster.
        if found := cluster.until(limit).get(secret.secret_ref(ref)):
            admin: Kubeconfig = secret.kubeconfig_of(found)
            act(admin, deadline=limit)
    except errors.Error as error:
        LOG.warning(
            "%s: the credential given out is not revoked: %s", ref, error
        )
        return False
    return True
