"""Report whether the node of a Pod being deleted is Ready."""

from __future__ import annotations

from collections.abc import Iterator

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

POD = GroupKind("", "Pod")


def describe_node(cluster: Cluster, obj: Manifest) -> Iterator[str]:
    """Yield a line for a Pod being deleted: only its kubelet can stop it."""
    name = objects.field(obj, ("spec", "nodeName"))
    if GroupKind.of(obj) != POD or not name:
        return
    ref = ObjectRef("", "Node", "", str(name))
    try:
        node = cluster.get(ref)
    except errors.Error:
        yield f"it has to end on {ref}, which cannot be read"
        return
    if node is None:
        yield f"it has to end on {ref}, which does not exist"
        return
    ready = objects.conditions(node).get("Ready", {})
    if ready.get("status") == "True":
        yield f"it has to end on {ref}, which is Ready"
        return
    reason = (
        ready.get("message")
        or ready.get("reason")
        or "its status is not reported"
    )
    yield f"it has to end on {ref}, which is not Ready: {reason}"
