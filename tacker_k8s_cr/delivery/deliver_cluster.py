"""Deliver the kubeconfig of one Cluster: wait, read, check its API, post."""

from __future__ import annotations

import datetime
import logging

from tacker_k8s_cr.delivery import kubeconfig_secret
from tacker_k8s_cr.delivery import message
from tacker_k8s_cr.delivery import scoped_credential
from tacker_k8s_cr.delivery import webhook
from tacker_k8s_cr.delivery.credential_mode import CredentialMode
from tacker_k8s_cr.delivery.delivery_settings import ApiCheck
from tacker_k8s_cr.delivery.delivery_settings import Delivery
from tacker_k8s_cr.delivery.receipt import Receipt
from tacker_k8s_cr.delivery.receipt import Workload
from tacker_k8s_cr.delivery.receipt_store import ReceiptStore
from tacker_k8s_cr.delivery.service_account import Account
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

LOG = logging.getLogger(__name__)


TRY_SECONDS = 10.0
"""Seconds for a check of the API that may fail."""


def deliver_cluster(
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
