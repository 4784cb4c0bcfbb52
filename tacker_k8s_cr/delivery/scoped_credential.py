"""A credential with rights of its own, in the administrator's place."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import time

from tacker_k8s_cr import kube as clusters
from tacker_k8s_cr.delivery import service_account as accounts
from tacker_k8s_cr.delivery.credential_mode import CredentialMode
from tacker_k8s_cr.delivery.service_account import Account
from tacker_k8s_cr.kube import token_request
from tacker_k8s_cr.kube.check_api import check
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef

TAKEN = 30.0
"""Seconds in which a server has to take a credential that it made."""

PAUSE = 0.5
"""Seconds between two looks."""

Ask = Callable[[Kubeconfig, Deadline], None]
Connect = Callable[[Kubeconfig], Cluster]
Request = Callable[[Kubeconfig, ObjectRef, int, Deadline], str]


@dataclasses.dataclass(frozen=True)
class WorkloadClients:
    """The way to workload clusters.

    :param token: asks for a token of an account that expires on its own.
    :param ask: whether a server takes a credential; raises a ClusterError.
    """

    connect: Connect = clusters.connect
    token: Request = token_request.request_token
    ask: Ask = check
    pause: Callable[[float], None] = time.sleep


FAR = WorkloadClients()


def credential(
    admin: Kubeconfig,
    account: Account,
    access: CredentialMode,
    far: WorkloadClients,
    deadline: Deadline,
    *,
    renew: bool,
    lasts: bool,
) -> Kubeconfig | None:
    """Return a kubeconfig of the account, which is created if missing.

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


def wait_until_accepted(
    kubeconfig: Kubeconfig, far: WorkloadClients, deadline: Deadline
) -> None:
    """Ask until the server takes the credential that it has just made.

    A server compares a token with its own copy of accounts and Secrets,
    which may be a little older: at first it refuses what is right.
    """
    limit = deadline.at_most(TAKEN)
    try:
        while True:
            try:
                far.ask(kubeconfig, limit)
                return
            except errors.Unauthenticated:
                if limit.expired:
                    raise
                far.pause(min(PAUSE, limit.remaining))
    except errors.ClusterError as error:
        raise errors.KubeconfigInvalid(
            kubeconfig.where, f"it is not taken: {error.sentence()}"
        ) from error


def revoke(
    admin: Kubeconfig,
    account: Account,
    far: WorkloadClients,
    deadline: Deadline,
) -> None:
    """Take the account away; from then on no token of it is good."""
    with _reached(admin, far, deadline) as cluster:
        accounts.remove(cluster, account)


def revoke_all(
    admin: Kubeconfig,
    instance: str,
    uid: str,
    far: WorkloadClients,
    deadline: Deadline,
) -> None:
    """Take the accounts of all receivers of a Cluster away."""
    with _reached(admin, far, deadline) as cluster:
        accounts.remove_all(cluster, instance, uid)


@contextlib.contextmanager
def _reached(
    admin: Kubeconfig, far: WorkloadClients, deadline: Deadline
) -> Iterator[Cluster]:
    """Connect to the workload cluster; errors name it."""
    with contextlib.closing(far.connect(admin)) as cluster:
        try:
            yield cluster.with_deadline(deadline)
        except errors.ClusterError as error:
            raise errors.KubeconfigInvalid(
                admin.where,
                f"the account that it is to be replaced by: "
                f"{error.sentence()}",
            ) from error
