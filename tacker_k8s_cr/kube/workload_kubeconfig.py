"""Read the kubeconfig of a workload cluster from its Secret."""

from __future__ import annotations

import base64
import urllib.parse

from tacker_k8s_cr.kube import kubeconfig
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import KubeconfigInvalid
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

KEY = "value"


def secret_ref(workload: ObjectRef) -> ObjectRef:
    """Return the Secret with a Cluster's kubeconfig, by contract."""
    name = f"{workload.name}-kubeconfig"
    return ObjectRef("", "Secret", workload.namespace, name)


def kubeconfig_of(secret: Manifest) -> Kubeconfig:
    """Return the kubeconfig of the Secret, in a form that can be passed on.

    Raises KubeconfigInvalid, which contains nothing of the content.
    """
    ref = ObjectRef.of(secret)
    value = objects.field(secret, ("data", KEY))
    if value is None:
        keys = ", ".join(sorted(objects.field(secret, ("data",), {})))
        raise KubeconfigInvalid(
            str(ref), f"it has no key {KEY}; its keys: {keys or 'none'}"
        )
    where = f"{ref}, key {KEY}"
    try:
        text = base64.b64decode(value, validate=True).decode()
    except (TypeError, ValueError):
        raise KubeconfigInvalid(where, "it is not text in base64") from None
    found = kubeconfig.parse(text, where).portable()
    if found.insecure or not found.server.startswith("https://"):
        raise KubeconfigInvalid(
            where, "it does not verify its server, so it is not passed on"
        )
    return found


def check_endpoint(found: Kubeconfig, workload: Manifest) -> None:
    """Raise KubeconfigInvalid if the server is not the Cluster's endpoint."""
    endpoint = objects.field(workload, ("spec", "controlPlaneEndpoint"), {})
    host, port = endpoint.get("host"), endpoint.get("port")
    if not host or not port:
        return
    parts = urllib.parse.urlsplit(found.server)
    if (parts.hostname, parts.port or 443) != (host.lower().strip("[]"), port):
        raise KubeconfigInvalid(
            found.where,
            f"its server is {found.server}, and {ObjectRef.of(workload)} has "
            f"the endpoint {host}:{port}",
        )
