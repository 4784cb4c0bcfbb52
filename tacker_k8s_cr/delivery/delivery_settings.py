"""Receiver, credential, and check of the API of a delivery."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import datetime
import enum
import time

from tacker_k8s_cr.delivery import webhook
from tacker_k8s_cr.delivery.credential_mode import ADMIN
from tacker_k8s_cr.delivery.credential_mode import CredentialMode
from tacker_k8s_cr.delivery.scoped_credential import DEFAULT_CLIENTS
from tacker_k8s_cr.delivery.scoped_credential import WorkloadClients
from tacker_k8s_cr.delivery.webhook import Receiver
from tacker_k8s_cr.kube import check_api
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.model.deadline import Deadline

CheckApi = Callable[[Kubeconfig, Deadline], None]

Post = Callable[[Receiver, bytes, Deadline], webhook.Accepted]


class ApiCheck(enum.Enum):
    """Whether the API server of a kubeconfig must be reachable.

    The conductor often cannot reach the networks of workload clusters.
    """

    REQUIRE = "require"
    TRY = "try"
    SKIP = "skip"


@dataclasses.dataclass(frozen=True)
class Delivery:
    """Receiver, credential, and check of the API of a delivery.

    :param renew: create a new scoped credential, and revoke the previous one.
    :param check_api: sends a request to the API; raises a ClusterError.
    :param post: sends a message.
    :param workload_clients: clients of the workload clusters with the
        accounts.
    :param now: seconds since 1970, for receipts.
    """

    receiver: Receiver
    api_check: ApiCheck = ApiCheck.REQUIRE
    access: CredentialMode = ADMIN
    renew: bool = False
    check_api: CheckApi = check_api.check
    post: Post = webhook.post
    workload_clients: WorkloadClients = DEFAULT_CLIENTS
    now: Callable[[], float] = time.time

    @property
    def timestamp(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(
            self.now(), datetime.timezone.utc
        )
