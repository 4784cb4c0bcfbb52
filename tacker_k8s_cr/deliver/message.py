"""What a receiver is told, as JSON. Nothing here acts.

A message has no moment in it: the same content is the same text, and so
has the same id. When it was sent is said by a header.
"""

from __future__ import annotations

from collections.abc import Mapping
import datetime
import json
from typing import Any

from tacker_k8s_cr import objects
from tacker_k8s_cr.kubeconfig import Kubeconfig
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef

VERSION = 1
"""Of the messages. It grows when a receiver has to learn something."""

ISSUED = "workload-cluster.kubeconfig"
TERMINATED = "workload-cluster.terminated"


def issued(
    instance: str,
    workload: Manifest,
    kubeconfig: Kubeconfig,
    kubernetes_version: str = "",
) -> bytes:
    """The credential of a workload cluster.

    :param workload: the Cluster object.
    """
    expires = kubeconfig.expires
    why_not = registrable(kubeconfig)
    return _text(
        ISSUED,
        {
            **_about(instance, workload),
            "apiServer": kubeconfig.server,
            "certificateAuthority": kubeconfig.ca,
            "kubeconfig": kubeconfig.text(),
            "kubernetesVersion": kubernetes_version or None,
            "expires": rfc3339(expires) if expires else None,
            "fingerprint": kubeconfig.fingerprint,
            "vimRegistrable": not why_not,
            "vimRegistrableReason": why_not or None,
        },
    )


def terminated(instance: str, workload: Manifest) -> bytes:
    """The notice that a workload cluster is no more; without credential."""
    return _text(TERMINATED, _about(instance, workload))


def registrable(kubeconfig: Kubeconfig) -> str:
    """Why Tacker cannot register a VIM with this; empty when it can."""
    kind = kubeconfig.credential_kind
    if kind == "token":
        return ""
    what = "there is none" if kind == "none" else f"this is by {kind}"
    return f"a Kubernetes VIM needs a bearer token, and {what}"


def rfc3339(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.timezone.utc).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )


def _about(instance: str, workload: Manifest) -> dict[str, Any]:
    ref = ObjectRef.of(workload)
    return {
        "vnfInstanceId": instance,
        "cluster": {
            "name": ref.name,
            "namespace": ref.namespace,
            # A cluster made again under the same name is another one, and
            # messages about it are not repeats.
            "uid": objects.uid(workload),
        },
    }


def _text(kind: str, data: Mapping[str, Any]) -> bytes:
    message = {"type": kind, "version": VERSION, "data": data}
    return json.dumps(message, sort_keys=True, separators=(",", ":")).encode()
