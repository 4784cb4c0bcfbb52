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
from tacker_k8s_cr.delivery.scoped_credential import FAR
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
"""How long a check of the API that may fail is tried."""

ENDS = 60.0
"""Seconds for Clusters that went, before others are delivered."""

Ask = Callable[[Kubeconfig, Deadline], None]
Post = Callable[[Receiver, bytes, Deadline], webhook.Accepted]


class ApiCheck(enum.Enum):
    """Whether the API behind a kubeconfig must answer us.

    Who manages clusters often cannot reach their networks.
    """

    REQUIRE = "require"
    TRY = "try"
    SKIP = "skip"


@dataclasses.dataclass(frozen=True)
class Delivery:
    """Receiver, credential, and check of the API of a delivery.

    :param renew: create a new scoped credential, and revoke the previous one.
    :param ask: asks the API for an answer; raises a ClusterError.
    :param post: sends a message.
    :param far: the way to workload clusters, where accounts are made.
    :param now: seconds since 1970, for receipts.
    """

    receiver: Receiver
    api_check: ApiCheck = ApiCheck.REQUIRE
    access: CredentialMode = ADMIN
    renew: bool = False
    ask: Ask = ask
    post: Post = webhook.post
    far: WorkloadClients = FAR
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

    :param namespace: where the instance's record lies.
    """
    cluster = cluster.with_deadline(deadline)
    entry = store.read(cluster, instance, namespace)
    if entry is None:
        raise errors.InstanceNotFound(instance, namespace)
    book = ReceiptStore(cluster, instance, namespace, deadline)
    _end(book, receipts.orphaned_receipts(entry.inventory), delivery)
    former = receipts.recorded(entry.inventory)
    done = []
    for workload in receipts.workloads(entry.inventory):
        before = receipts.previous_receipt(former, workload, delivery.receiver)
        if delivery.access.scoped and not (before and before.has_account):
            before = _marked(book, workload, delivery)
        receipt = _delivered(book, workload, delivery, before)
        if receipt != before:
            book.add(receipt)
        if receipt.unrevoked:
            receipt = _revoked(book, receipt, delivery)
        done.append(receipt)
    return tuple(done)


def _end(
    book: ReceiptStore, gone: Collection[Receipt], delivery: Delivery
) -> None:
    """Of Clusters that went: revoke, tell, and forget what is done."""
    receiver = delivery.receiver
    limit = book.deadline.at_most(ENDS)
    revoked = revocation.revoke_clusters(
        book.cluster,
        book.instance,
        sorted({r.cluster_ref for r in gone if r.has_account}),
        delivery.far,
        limit.at_most(limit.remaining / 2),
    )
    told = revocation.notify_terminated(
        book.instance,
        sorted({r.cluster_ref for r in gone if r.receiver == receiver.id}),
        receiver,
        delivery.post,
        limit,
    )
    done = [
        r
        for r in gone
        if (r.cluster_ref in revoked or not r.has_account)
        # A receiver that is no longer configured cannot be notified.
        and (r.cluster_ref in told or r.receiver != receiver.id)
    ]
    if done:
        book.drop(done)


def _marked(
    book: ReceiptStore, workload: Workload, delivery: Delivery
) -> Receipt:
    """A mark, kept before an account is made, so that it is not lost."""
    ref, uid = workload
    receiver, access = delivery.receiver, delivery.access
    mark = Receipt(
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
    book.add(mark)
    return mark


def _revoked(
    book: ReceiptStore, receipt: Receipt, delivery: Delivery
) -> Receipt:
    """Revoke what the receiver had before; as it fails, it stays noted."""
    account = Account(book.instance, receipt.uid, receipt.receiver)
    if not revocation.one_revoked(
        book.cluster, receipt.cluster_ref, account, delivery.far, book.deadline
    ):
        return receipt
    receipt = dataclasses.replace(receipt, unrevoked=False)
    book.add(receipt)
    return receipt


def _delivered(
    book: ReceiptStore,
    workload: Workload,
    delivery: Delivery,
    before: Receipt | None,
) -> Receipt:
    """The receipt for one Cluster's kubeconfig: a former one, or a new."""
    cluster, deadline = book.cluster, book.deadline
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
    found: Kubeconfig | None = admin
    if access.scoped:
        found = scoped_credential.credential(
            admin,
            Account(book.instance, uid, receiver.id),
            access,
            delivery.far,
            deadline,
            renew=delivery.renew,
            lasts=token_still_valid(before, access, delivery.timestamp),
        )
    if before and (found is None or before.matches(found.fingerprint, access)):
        LOG.info("%s: %s has its kubeconfig", ref, receiver.shown)
        return before
    assert found is not None  # noqa: S101  only what a receipt is for lasts
    version = _version(cluster, obj)
    body = message.issued_message(book.instance, obj, found, version, access)
    if access.scoped:
        # This has reached the API already, so api_check is not needed.
        scoped_credential.wait_until_accepted(found, delivery.far, deadline)
    else:
        _check_api(delivery, found, deadline)
    delivery.post(receiver, body, deadline)
    LOG.info("%s: kubeconfig delivered to %s", ref, receiver.shown)
    expires = found.expires
    return Receipt(
        ref,
        receiver.shown,
        receiver.id,
        webhook.message_id(body),
        found.fingerprint,
        message.rfc3339(delivery.timestamp),
        access.credential.value,
        access.role if access.scoped else "",
        message.rfc3339(expires) if expires else "",
        uid,
        unrevoked=not access.scoped and bool(before and before.has_account),
    )


def token_still_valid(
    before: Receipt | None, access: CredentialMode, now: datetime.datetime
) -> bool:
    """Whether a receiver has a token that ends, and not soon.

    Soon is when less than a tenth of its time is left: a repeat then brings
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
        delivery.ask(kubeconfig, deadline)
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
    """The Kubernetes version of a workload cluster, where it is known."""
    named = objects.field(workload, ("spec", "topology", "version"))
    ref = objects.field(workload, ("spec", "controlPlaneRef"), {})
    if named or not ref:
        return str(named or "")
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
