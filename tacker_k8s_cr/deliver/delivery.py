"""For each Cluster of an instance: wait, look, probe, post, remember."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import datetime
import enum
import logging
import time

from tacker_k8s_cr import errors
from tacker_k8s_cr import lock
from tacker_k8s_cr import objects
from tacker_k8s_cr import record
from tacker_k8s_cr import webhook
from tacker_k8s_cr.cluster.probe import probe as ask
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.deliver import message
from tacker_k8s_cr.deliver import receipt as receipts
from tacker_k8s_cr.deliver import secret
from tacker_k8s_cr.deliver.receipt import Receipt
from tacker_k8s_cr.kubeconfig import Kubeconfig
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.webhook import Receiver

LOG = logging.getLogger(__name__)

CLUSTER = GroupKind("cluster.x-k8s.io", "Cluster")

TRY_SECONDS = 10.0
"""How long a probe that may fail is tried."""

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
    """To whom, and after which probe.

    :param ask: sends the probe; raises a ClusterError.
    :param post: sends a message.
    :param now: seconds since 1970, for receipts.
    """

    receiver: Receiver
    probe: Probe = Probe.REQUIRE
    ask: Ask = ask
    post: Post = webhook.post
    now: Callable[[], float] = time.time


def deliver(
    cluster: Cluster,
    instance: str,
    delivery: Delivery,
    *,
    namespace: str = "default",
    deadline: Deadline,
) -> tuple[Receipt, ...]:
    """Post the kubeconfig of every Cluster that the instance owns.

    What the record says the receiver has is not sent again, so that a
    repeat after an error goes on where it stopped.

    :param namespace: where the instance's record lies.
    """
    cluster = cluster.until(deadline)
    entry = record.read(cluster, instance, namespace)
    if entry is None:
        raise errors.InstanceUnknown(instance, namespace)
    workloads = sorted(
        ref for ref in entry.inventory.owned if ref.group_kind == CLUSTER
    )
    former = [Receipt.of(item) for item in entry.inventory.receipts]
    done = []
    for workload in workloads:
        receipt = delivered(
            cluster, instance, workload, delivery, former, deadline
        )
        if receipt not in former:
            _keep(cluster, instance, namespace, receipt, deadline)
        done.append(receipt)
    return tuple(done)


def delivered(
    cluster: Cluster,
    instance: str,
    workload: ObjectRef,
    delivery: Delivery,
    former: Iterable[Receipt],
    deadline: Deadline,
) -> Receipt:
    """The receipt for one Cluster's kubeconfig: a former one, or a new."""
    found = secret.kubeconfig_of(secret.awaited(cluster, workload, deadline))
    obj = cluster.get(workload)
    if obj is None:
        raise errors.KubeconfigInvalid(
            found.where, f"{workload}, whose kubeconfig it is, is not there"
        )
    secret.check_endpoint(found, obj)
    body = message.issued(instance, obj, found, _version(cluster, obj))
    id_ = webhook.message_id(body)
    receiver = delivery.receiver
    if before := receipts.sent_before(former, receiver, id_):
        LOG.info("%s: %s has its kubeconfig", workload, receiver.shown)
        return before
    _probe(delivery, found, deadline)
    delivery.post(receiver, body, deadline)
    LOG.info("%s: kubeconfig taken by %s", workload, receiver.shown)
    moment = datetime.datetime.fromtimestamp(
        delivery.now(), datetime.timezone.utc
    )
    return Receipt(
        workload,
        receiver.shown,
        receiver.id,
        id_,
        found.fingerprint,
        message.rfc3339(moment),
    )


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


def _keep(
    cluster: Cluster,
    instance: str,
    namespace: str,
    receipt: Receipt,
    deadline: Deadline,
) -> None:
    """Write the receipt into the instance's record."""
    with lock.locked(cluster, instance, namespace, deadline):
        entry = record.read(cluster, instance, namespace)
        if entry is None:
            raise errors.InstanceUnknown(instance, namespace)
        kept = receipts.latest(
            [*map(Receipt.of, entry.inventory.receipts), receipt]
        )
        record.write(
            cluster,
            dataclasses.replace(
                entry.inventory,
                receipts=tuple(item.as_dict() for item in kept),
            ),
            entry,
        )
