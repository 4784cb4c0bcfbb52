"""Create a credential with its own permissions, for a receiver."""

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

ACCEPTANCE_SECONDS = 30.0
"""Seconds in which a server has to accept a credential that it issued."""

PAUSE = 0.5
"""Seconds between two attempts."""

CheckApi = Callable[[Kubeconfig, Deadline], None]
Connect = Callable[[Kubeconfig], Cluster]
Request = Callable[[Kubeconfig, ObjectRef, int, Deadline], str]


@dataclasses.dataclass(frozen=True)
class WorkloadClients:
    """Functions that access workload clusters.

    :param request_token: requests an expiring token of an account.
    :param check_api: raises a ClusterError unless a server accepts a
        credential.
    """

    connect: Connect = clusters.connect
    request_token: Request = token_request.request_token
    check_api: CheckApi = check
    pause: Callable[[float], None] = time.sleep


DEFAULT_CLIENTS = WorkloadClients()


def create_credential(
    admin: Kubeconfig,
    account: Account,
    access: CredentialMode,
    clients: WorkloadClients,
    deadline: Deadline,
    *,
    renew: bool,
    has_valid_token: bool,
) -> Kubeconfig | None:
    """Return a kubeconfig of the account, which is created if missing.

    :param has_valid_token: the receiver has a token that does not expire soon.
        Then no token is requested, and None is returned.
    """
    with _connect(admin, clients, deadline) as cluster:
        uid, new = accounts.ensure(cluster, account, access.role, renew=renew)
        if not access.expires_after:
            token = accounts.lasting_token(cluster, account, uid, deadline)
        else:
            accounts.no_lasting_token(cluster, account)
            if has_valid_token and not new:
                return None
            token = clients.request_token(
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
    kubeconfig: Kubeconfig, clients: WorkloadClients, deadline: Deadline
) -> None:
    """Retry until the server accepts the credential that it just issued.

    A server compares a token with its cache of accounts and Secrets, which may
    be slightly older: at first it may refuse a valid token.
    """
    limit = deadline.at_most(ACCEPTANCE_SECONDS)
    try:
        while True:
            try:
                clients.check_api(kubeconfig, limit)
                return
            except errors.Unauthenticated:
                if limit.expired:
                    raise
                clients.pause(min(PAUSE, limit.remaining))
    except errors.ClusterError as error:
        raise errors.KubeconfigInvalid(
            kubeconfig.where, f"it is not accepted: {error.sentence()}"
        ) from error


def revoke(
    admin: Kubeconfig,
    account: Account,
    clients: WorkloadClients,
    deadline: Deadline,
) -> None:
    """Delete the account, which invalidates all of its tokens."""
    with _connect(admin, clients, deadline) as cluster:
        accounts.remove(cluster, account)


def revoke_all(
    admin: Kubeconfig,
    instance: str,
    uid: str,
    clients: WorkloadClients,
    deadline: Deadline,
) -> None:
    """Delete the accounts of all receivers of a Cluster."""
    with _connect(admin, clients, deadline) as cluster:
        accounts.remove_all(cluster, instance, uid)


@contextlib.contextmanager
def _connect(
    admin: Kubeconfig, clients: WorkloadClients, deadline: Deadline
) -> Iterator[Cluster]:
    """Connect to the workload cluster; errors name it."""
    with contextlib.closing(clients.connect(admin)) as cluster:
        try:
            yield cluster.with_deadline(deadline)
        except errors.ClusterError as error:
            raise errors.KubeconfigInvalid(
                admin.where,
                f"the account that replaces it: {error.sentence()}",
            ) from error
