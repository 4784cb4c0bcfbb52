"""For each Cluster of an instance: wait, look, probe, post, remember."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
import dataclasses
import datetime
import enum
import logging
import time

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import webhook
from tacker_k8s_cr.cluster.probe import probe as ask
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.deliver import ending
from tacker_k8s_cr.deliver import message
from tacker_k8s_cr.deliver import receipt as receipts
from tacker_k8s_cr.deliver import scoped
from tacker_k8s_cr.deliver import secret
from tacker_k8s_cr.deliver.access import ADMIN
from tacker_k8s_cr.deliver.access import Access
from tacker_k8s_cr.deliver.account import Account
from tacker_k8s_cr.deliver.keeping import Book
from tacker_k8s_cr.deliver.receipt import Receipt
from tacker_k8s_cr.deliver.receipt import Workload
from tacker_k8s_cr.deliver.scoped import FAR
from tacker_k8s_cr.deliver.scoped import Far
from tacker_k8s_cr.kubeconfig import Kubeconfig
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.webhook import Receiver

LOG = logging.getLogger(__name__)

TRY_SECONDS = 10.0
"""How long a probe that may fail is tried."""

ENDS = 60.0
"""Seconds for Clusters that went, before others are delivered."""

Ask = Callable[[Kubeconfig, Deadline], None]
Post = Callable[[Receiver, bytes, Deadline], webhook.Taken]


class Probe(enum.Enum):
    """Whether the API behind a kubeconfig must answer us.

    Who manages clusters often cannot reach their networks.
    """

    REQUIRE = "require"
    TRY = "try"
    SKIP = "skip"


@dataclasses.dataclass(frozen=True)
class Delivery:
    """To whom, with which credential, and after which probe.

    :param renew: make a scoped credential anew, and revoke the former.
    :param ask: sends the probe; raises a ClusterError.
    :param post: sends a message.
    :param far: the way to workload clusters, where accounts are made.
    :param now: seconds since 1970, for receipts.
    """

    receiver: Receiver
    probe: Probe = Probe.REQUIRE
    access: Access = ADMIN
    renew: bool = False
    ask: Ask = ask
    post: Post = webhook.post
    far: Far = FAR
    now: Callable[[], float] = time.time

    @property
    def moment(self) -> datetime.datetime:
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

    A credential that the receiver has, as the record says, is not sent
    again, so that a repeat after an error goes on where it stopped. Of a
    Cluster that it had, and the instance owns no longer, it is told.

    :param namespace: where the instance's record lies.
    """
    cluster = cluster.until(deadline)
    entry = record.read(cluster, instance, namespace)
    if entry is None:
        raise errors.InstanceUnknown(instance, namespace)
    book = Book(cluster, instance, namespace, deadline)
    _end(book, receipts.outlived(entry.inventory), delivery)
    former = receipts.recorded(entry.inventory)
    done = []
    for workload in receipts.workloads(entry.inventory):
        before = receipts.former(former, workload, delivery.receiver)
        if delivery.access.scoped and not (before and before.has_account):
            before = _marked(book, workload, delivery)
        receipt = _delivered(book, workload, delivery, before)
        if receipt != before:
            book.add(receipt)
        if receipt.unrevoked:
            receipt = _revoked(book, receipt, delivery)
        done.append(receipt)
    return tuple(done)


def _end(book: Book, gone: Collection[Receipt], delivery: Delivery) -> None:
    """Of Clusters that went: revoke, tell, and forget what is done."""
    receiver = delivery.receiver
    limit = book.deadline.sooner(ENDS)
    revoked = ending.revoked(
        book.cluster,
        book.instance,
        sorted({r.about for r in gone if r.has_account}),
        delivery.far,
        limit.sooner(limit.left / 2),
    )
    told = ending.told(
        book.instance,
        sorted({r.about for r in gone if r.receiver == receiver.id}),
        receiver,
        delivery.post,
        limit,
    )
    done = [
        r
        for r in gone
        if (r.about in revoked or not r.has_account)
        # Nobody can tell a receiver that the settings no longer name.
        and (r.about in told or r.receiver != receiver.id)
    ]
    if done:
        book.drop(done)


def _marked(book: Book, workload: Workload, delivery: Delivery) -> Receipt:
    """A mark, kept before an account is made, so that it is not lost."""
    ref, uid = workload
    receiver, access = delivery.receiver, delivery.access
    mark = Receipt(
        ref,
        receiver.shown,
        receiver.id,
        message="",
        fingerprint="",
        at=message.rfc3339(delivery.moment),
        mode=access.mode.value,
        role=access.role,
        uid=uid,
    )
    book.add(mark)
    return mark


def _revoked(book: Book, receipt: Receipt, delivery: Delivery) -> Receipt:
    """Revoke what the receiver had before; as it fails, it stays noted."""
    account = Account(book.instance, receipt.uid, receipt.receiver)
    if not ending.one_revoked(
        book.cluster, receipt.about, account, delivery.far, book.deadline
    ):
        return receipt
    receipt = dataclasses.replace(receipt, unrevoked=False)
    book.add(receipt)
    return receipt


def _delivered(
    book: Book, workload: Workload, delivery: Delivery, before: Receipt | None
) -> Receipt:
    """The receipt for one Cluster's kubeconfig: a former one, or a new."""
    cluster, deadline = book.cluster, book.deadline
    ref, uid = workload
    admin = secret.kubeconfig_of(secret.awaited(cluster, ref, deadline))
    obj = cluster.get(ref)
    if obj is None or objects.uid(obj) != uid:
        raise errors.KubeconfigInvalid(
            admin.where, f"{ref}, whose kubeconfig it is, is not there"
        )
    secret.check_endpoint(admin, obj)
    receiver, access = delivery.receiver, delivery.access
    found: Kubeconfig | None = admin
    if access.scoped:
        found = scoped.credential(
            admin,
            Account(book.instance, uid, receiver.id),
            access,
            delivery.far,
            deadline,
            renew=delivery.renew,
            lasts=lasts(before, access, delivery.moment),
        )
    if before and (found is None or before.says(found.fingerprint, access)):
        LOG.info("%s: %s has its kubeconfig", ref, receiver.shown)
        return before
    assert found is not None  # noqa: S101  only what a receipt is for lasts
    version = _version(cluster, obj)
    body = message.issued(book.instance, obj, found, version, access)
    if access.scoped:
        # We have been there already, whatever is said of the probe.
        scoped.proved(found, delivery.far, deadline)
    else:
        _probe(delivery, found, deadline)
    delivery.post(receiver, body, deadline)
    LOG.info("%s: kubeconfig taken by %s", ref, receiver.shown)
    expires = found.expires
    return Receipt(
        ref,
        receiver.shown,
        receiver.id,
        webhook.message_id(body),
        found.fingerprint,
        message.rfc3339(delivery.moment),
        access.mode.value,
        access.role if access.scoped else "",
        message.rfc3339(expires) if expires else "",
        uid,
        unrevoked=not access.scoped and bool(before and before.has_account),
    )


def lasts(
    before: Receipt | None, access: Access, now: datetime.datetime
) -> bool:
    """Whether a receiver has a token that ends, and not soon.

    Soon is when less than a tenth of its time is left: a repeat then brings
    the next one.
    """
    if before is None or not before.expires or not access.expires_after:
        return False
    if (before.mode, before.role) != (access.mode.value, access.role):
        return False
    soon = now + datetime.timedelta(seconds=access.expires_after / 10)
    return message.rfc3339(soon) < before.expires


def _probe(
    delivery: Delivery, kubeconfig: Kubeconfig, deadline: Deadline
) -> None:
    if delivery.probe is Probe.SKIP:
        return
    if delivery.probe is Probe.TRY:
        deadline = deadline.sooner(TRY_SECONDS)
    try:
        delivery.ask(kubeconfig, deadline)
    except errors.ClusterError as error:
        if delivery.probe is Probe.REQUIRE:
            raise errors.KubeconfigInvalid(
                kubeconfig.where, f"the probe failed: {error.sentence()}"
            ) from error
        LOG.warning(
            "%s: the probe failed, which is allowed: %s",
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
