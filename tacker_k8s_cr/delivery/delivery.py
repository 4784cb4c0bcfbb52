"""For each Cluster of an instance: wait, read, check its API, post, record."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
import dataclasses
import datetime
import enum
import logging
import time

from tacker_k8s_cr.delivery import kubeconfig_secret
from tacker_k8s_cr.delivery import message
from tacker_k8s_cr.delivery import receipt as receipts
from tacker_k8s_cr.delivery import revocation
from tacker_k8s_cr.delivery import scoped_credential
from tacker_k8s_cr.delivery import webhook
from tacker_k8s_cr.delivery.credential_mode import ADMIN
from tacker_k8s_cr.delivery.credential_mode import CredentialMode
from tacker_k8s_cr.delivery.receipt import Receipt
from tacker_k8s_cr.delivery.receipt import Workload
from tacker_k8s_cr.delivery.receipt_store import ReceiptStore
from tacker_k8s_cr.delivery.scoped_credential import DEFAULT_CLIENTS
from tacker_k8s_cr.delivery.scoped_credential import WorkloadClients
from tacker_k8s_cr.delivery.service_account import Account
from tacker_k8s_cr.delivery.webhook import Receiver
from tacker_k8s_cr.kube.check_api import check as ask
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.state import store

LOG = logging.getLogger(__name__)

TRY_SECONDS = 10.0
"""Seconds for a check of the API that may fail."""

END_SECONDS = 60.0
"""Seconds for deleted Clusters, before others are delivered."""

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
    check_api: CheckApi = ask
    post: Post = webhook.post
    workload_clients: WorkloadClients = DEFAULT_CLIENTS
    now: Callable[[], float] = time.time

    @property
    def timestamp(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(
            self.now(), datetime.timezone.utc
        )


def deliver(
    cluster: Cluster,
    instance: str,
    delivery: Delivery,
    *,
    namespace: str = "default",
    deadline: Deadline,
) -> tuple[Receipt, ...]:
    """Post the kubeconfig of every Cluster that the instance owns.

    A credential that the receiver has by the record is not sent again, so
    that a repeat after an error continues where it stopped. The receiver is
    notified of Clusters that the instance no longer owns.

    :param namespace: of the instance's record.
    """
    cluster = cluster.with_deadline(deadline)
    entry = store.read(cluster, instance, namespace)
    if entry is None:
        raise errors.InstanceNotFound(instance, namespace)
    receipt_store = ReceiptStore(cluster, instance, namespace, deadline)
    _end_deliveries(
        receipt_store, receipts.orphaned_receipts(entry.inventory), delivery
    )
    former = receipts.recorded(entry.inventory)
    done = []
    for workload in receipts.workloads(entry.inventory):
        before = receipts.previous_receipt(former, workload, delivery.receiver)
        if delivery.access.scoped and not (before and before.has_account):
            before = _announce_account(receipt_store, workload, delivery)
        receipt = _deliver_one(receipt_store, workload, delivery, before)
        if receipt != before:
            receipt_store.add(receipt)
        if receipt.unrevoked:
            receipt = _revoke_previous(receipt_store, receipt, delivery)
        done.append(receipt)
    return tuple(done)


def _end_deliveries(
    receipt_store: ReceiptStore,
    orphaned: Collection[Receipt],
    delivery: Delivery,
) -> None:
    """Revoke credentials of deleted Clusters, notify, and drop receipts."""
    receiver = delivery.receiver
    limit = receipt_store.deadline.at_most(END_SECONDS)
    revoked = revocation.revoke_clusters(
        receipt_store.cluster,
        receipt_store.instance,
        sorted({r.cluster_ref for r in orphaned if r.has_account}),
        delivery.workload_clients,
        limit.at_most(limit.remaining / 2),
    )
    notified = revocation.notify_terminated(
        receipt_store.instance,
        sorted({r.cluster_ref for r in orphaned if r.receiver == receiver.id}),
        receiver,
        delivery.post,
        limit,
    )
    done = [
        r
        for r in orphaned
        if (r.cluster_ref in revoked or not r.has_account)
        # A receiver that is no longer configured cannot be notified.
        and (r.cluster_ref in notified or r.receiver != receiver.id)
    ]
    if done:
        receipt_store.drop(done)


def _announce_account(
    receipt_store: ReceiptStore, workload: Workload, delivery: Delivery
) -> Receipt:
    """Store a receipt before an account is created, so it is not lost."""
    ref, uid = workload
    receiver, access = delivery.receiver, delivery.access
    receipt = Receipt(
        ref,
        receiver.shown,
        receiver.id,
        message="",
        fingerprint="",
        at=message.rfc3339(delivery.timestamp),
        credential=access.credential.value,
        role=access.role,
        uid=uid,
    )
    receipt_store.add(receipt)
    return receipt


def _revoke_previous(
    receipt_store: ReceiptStore, receipt: Receipt, delivery: Delivery
) -> Receipt:
    """Revoke the receiver's previous credential; a failure stays recorded."""
    account = Account(receipt_store.instance, receipt.uid, receipt.receiver)
    if not revocation.revoke_one(
        receipt_store.cluster,
        receipt.cluster_ref,
        account,
        delivery.workload_clients,
        receipt_store.deadline,
    ):
        return receipt
    receipt = dataclasses.replace(receipt, unrevoked=False)
    receipt_store.add(receipt)
    return receipt


def _deliver_one(
    receipt_store: ReceiptStore,
    workload: Workload,
    delivery: Delivery,
    before: Receipt | None,
) -> Receipt:
    """Return the receipt for a Cluster's kubeconfig, delivered if needed."""
    cluster, deadline = receipt_store.cluster, receipt_store.deadline
    ref, uid = workload
    admin = kubeconfig_secret.kubeconfig_of(
        kubeconfig_secret.wait_for_kubeconfig_secret(cluster, ref, deadline)
    )
    obj = cluster.get(ref)
    if obj is None or objects.uid(obj) != uid:
        raise errors.KubeconfigInvalid(
            admin.where, f"its Cluster {ref} does not exist"
        )
    kubeconfig_secret.check_endpoint(admin, obj)
    receiver, access = delivery.receiver, delivery.access
    kubeconfig: Kubeconfig | None = admin
    if access.scoped:
        kubeconfig = scoped_credential.create_credential(
            admin,
            Account(receipt_store.instance, uid, receiver.id),
            access,
            delivery.workload_clients,
            deadline,
            renew=delivery.renew,
            has_valid_token=is_token_still_valid(
                before, access, delivery.timestamp
            ),
        )
    if before and (
        kubeconfig is None or before.matches(kubeconfig.fingerprint, access)
    ):
        LOG.info("%s: %s has its kubeconfig", ref, receiver.shown)
        return before
    assert kubeconfig is not None  # noqa: S101  only what a receipt is for lasts
    version = _version(cluster, obj)
    body = message.issued_message(
        receipt_store.instance, obj, kubeconfig, version, access
    )
    if access.scoped:
        # The API was reached already, so api_check is not needed.
        scoped_credential.wait_until_accepted(
            kubeconfig, delivery.workload_clients, deadline
        )
    else:
        _check_api(delivery, kubeconfig, deadline)
    delivery.post(receiver, body, deadline)
    LOG.info("%s: kubeconfig delivered to %s", ref, receiver.shown)
    expires = kubeconfig.expires
    return Receipt(
        ref,
        receiver.shown,
        receiver.id,
        webhook.message_id(body),
        kubeconfig.fingerprint,
        message.rfc3339(delivery.timestamp),
        access.credential.value,
        access.role if access.scoped else "",
        message.rfc3339(expires) if expires else "",
        uid,
        unrevoked=not access.scoped and bool(before and before.has_account),
    )


def is_token_still_valid(
    before: Receipt | None, access: CredentialMode, now: datetime.datetime
) -> bool:
    """Whether a receiver has an expiring token that does not expire soon.

    Soon means within the last tenth of its lifetime: a repeat then delivers
    the next one.
    """
    if before is None or not before.expires or not access.expires_after:
        return False
    if (before.credential, before.role) != (
        access.credential.value,
        access.role,
    ):
        return False
    soon = now + datetime.timedelta(seconds=access.expires_after / 10)
    return message.rfc3339(soon) < before.expires


def _check_api(
    delivery: Delivery, kubeconfig: Kubeconfig, deadline: Deadline
) -> None:
    if delivery.api_check is ApiCheck.SKIP:
        return
    if delivery.api_check is ApiCheck.TRY:
        deadline = deadline.at_most(TRY_SECONDS)
    try:
        delivery.check_api(kubeconfig, deadline)
    except errors.ClusterError as error:
        if delivery.api_check is ApiCheck.REQUIRE:
            raise errors.KubeconfigInvalid(
                kubeconfig.where,
                f"the check of the API failed: {error.sentence()}",
            ) from error
        LOG.warning(
            "%s: the check of the API failed, which is allowed: %s",
            kubeconfig.where,
            error,
        )


def _version(cluster: Cluster, workload: Manifest) -> str:
    """Return the Kubernetes version of a workload cluster, or nothing."""
    topology_version = objects.field(workload, ("spec", "topology", "version"))
    ref = objects.field(workload, ("spec", "controlPlaneRef"), {})
    if topology_version or not ref:
        return str(topology_version or "")
    # In v1beta1 a reference has an apiVersion, in v1beta2 only a group.
    group, _ = objects.split_api_version(ref.get("apiVersion") or "v1")
    control_plane = ObjectRef(
        ref.get("apiGroup") or group,
        ref["kind"],
        ObjectRef.of(workload).namespace,
        ref["name"],
    )
    obj = cluster.get(control_plane)
    for path in (("status", "version"), ("spec", "version")):
        if found := objects.field(obj, path):
            return str(found)
    return ""
