"""The messages to a receiver, as JSON: pure.

A message contains no time: the same content is the same text, and has the
same id. The time of sending is in a header.
"""

from __future__ import annotations

from collections.abc import Mapping
import datetime
import json
from typing import Any

from tacker_k8s_cr.delivery.credential_mode import ADMIN
from tacker_k8s_cr.delivery.credential_mode import CredentialMode
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

VERSION = 2
"""Version of the messages, increased by an incompatible change."""

ISSUED = "workload-cluster.kubeconfig"
TERMINATED = "workload-cluster.terminated"


def issued_message(
    instance: str,
    workload: Manifest,
    kubeconfig: Kubeconfig,
    kubernetes_version: str = "",
    access: CredentialMode = ADMIN,
) -> bytes:
    """Return the message with the credential of a workload cluster.

    :param workload: the Cluster object.
    :param access: whose credential it is.
    """
    expires = kubeconfig.expires
    reason = reason_not_registrable(kubeconfig)
    return _text(
        ISSUED,
        {
            **_about(instance, ObjectRef.of(workload), objects.uid(workload)),
            "credential": access.credential.value,
            "role": access.role if access.scoped else None,
            "apiServer": kubeconfig.server,
            "certificateAuthority": kubeconfig.ca,
            "bearerToken": kubeconfig.token or None,
            "kubeconfig": kubeconfig.to_yaml(),
            "kubernetesVersion": kubernetes_version or None,
            "expires": rfc3339(expires) if expires else None,
            "fingerprint": kubeconfig.fingerprint,
            "vimRegistrable": not reason,
            "vimRegistrableReason": reason or None,
        },
    )


def terminated_message(instance: str, workload: ObjectRef, uid: str) -> bytes:
    """Return the message that a workload cluster is terminated.

    :param uid: of the Cluster object.
    """
    return _text(TERMINATED, _about(instance, workload, uid))


def reason_not_registrable(kubeconfig: Kubeconfig) -> str:
    """Return why Tacker cannot register a VIM with it; empty if it can."""
    kind = kubeconfig.credential_kind
    if kind == "token":
        return ""
    problem = "there is none" if kind == "none" else f"this is by {kind}"
    return f"a Kubernetes VIM needs a bearer token, and {problem}"


def rfc3339(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.timezone.utc).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )


def _about(instance: str, ref: ObjectRef, uid: str) -> dict[str, Any]:
    return {
        "vnfInstanceId": instance,
        "cluster": {
            "name": ref.name,
            "namespace": ref.namespace,
            # A cluster recreated under the same name is another one, and
            # messages about it are not repeats.
            "uid": uid,
        },
    }


def _text(kind: str, data: Mapping[str, Any]) -> bytes:
    message = {"type": kind, "version": VERSION, "data": data}
    return json.dumps(message, sort_keys=True, separators=(",", ":")).encode()
