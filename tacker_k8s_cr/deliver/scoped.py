"""A credential with rights of its own, in the administrator's place."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import time

from tacker_k8s_cr import cluster as clusters
from tacker_k8s_cr import errors
from tacker_k8s_cr.cluster import tokens
from tacker_k8s_cr.cluster.probe import probe
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.deliver import account as accounts
from tacker_k8s_cr.deliver.access import Access
from tacker_k8s_cr.deliver.account import Account
from tacker_k8s_cr.kubeconfig import Kubeconfig
from tacker_k8s_cr.objects import ObjectRef

TAKEN = 30.0
"""Seconds in which a server has to take a credential that it made."""

PAUSE = 0.5
"""Seconds between two looks."""

Ask = Callable[[Kubeconfig, Deadline], None]
Connect = Callable[[Kubeconfig], Cluster]
Request = Callable[[Kubeconfig, ObjectRef, int, Deadline], str]


@dataclasses.dataclass(frozen=True)
class Far:
    """The way to workload clusters.

    :param token: asks for a token of an account that ends by itself.
    :param ask: whether a server takes a credential; raises a ClusterError.
    """

    connect: Connect = clusters.connect
    token: Request = tokens.requested
    ask: Ask = probe
    pause: Callable[[float], None] = time.sleep


FAR = Far()


def credential(
    admin: Kubeconfig,
    account: Account,
    access: Access,
    far: Far,
    deadline: Deadline,
    *,
    renew: bool,
    lasts: bool,
) -> Kubeconfig | None:
    """A kubeconfig of the account, which is made if it is not there.

    :param lasts: the receiver has a token of it that does not end soon.
        Then none is made, and there is no kubeconfig.
    """
    with _reached(admin, far, deadline) as cluster:
        uid, new = accounts.ensure(cluster, account, access.role, renew=renew)
        if not access.expires_after:
            token = accounts.lasting_token(cluster, account, uid, deadline)
        else:
            accounts.no_lasting_token(cluster, account)
            if lasts and not new:
                return None
            token = far.token(
                admin, account.ref, access.expires_after, deadline
            )
    return Kubeconfig(
        where=f"{account.ref} of {admin.server}",
        server=admin.server,
        context=f"{account.name}@{admin.cluster_name}",
        cluster_name=admin.cluster_name,
        user_name=account.name,
        ca=admin.ca,
        tls_server_name=admin.tls_server_name,
        proxy=admin.proxy,
        token=token,
    )


def proved(kubeconfig: Kubeconfig, far: Far, deadline: Deadline) -> None:
    """Ask until the server takes the credential that it has just made.

    A server compares a token with its own copy of accounts and Secrets,
    which may be a little older: at first it refuses what is right.
    """
    limit = deadline.sooner(TAKEN)
    try:
        while True:
            try:
                far.ask(kubeconfig, limit)
                return
            except errors.Unauthenticated:
                if limit.passed:
                    raise
                far.pause(min(PAUSE, limit.left))
    except errors.ClusterError as error:
        raise errors.KubeconfigInvalid(
            kubeconfig.where, f"it is not taken: {error.sentence()}"
        ) from error


def revoke(
    admin: Kubeconfig, account: Account, far: Far, deadline: Deadline
) -> None:
    """Take the account away; from then on no token of it is good."""
    with _reached(admin, far, deadline) as cluster:
        accounts.remove(cluster, account)


def revoke_all(
    admin: Kubeconfig, instance: str, uid: str, far: Far, deadline: Deadline
) -> None:
    """Take the accounts of all receivers of a Cluster away."""
    with _reached(admin, far, deadline) as cluster:
        accounts.remove_all(cluster, instance, uid)


@contextlib.contextmanager
def _reached(
    admin: Kubeconfig, far: Far, deadline: Deadline
) -> Iterator[Cluster]:
    """The workload cluster; what goes wrong there says whose fault it is."""
    with contextlib.closing(far.connect(admin)) as cluster:
        try:
            yield cluster.until(deadline)
        except errors.ClusterError as error:
            raise errors.KubeconfigInvalid(
                admin.where,
                f"the account that it is to be replaced by: "
                f"{error.sentence()}",
            ) from error
