"""The node on which a Pod has to end, and whether that node works."""

from __future__ import annotations

from collections.abc import Iterator

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef

POD = GroupKind("", "Pod")


def notes(cluster: Cluster, obj: Manifest) -> Iterator[str]:
    """A line for a Pod that is asked to go: only its node can end it."""
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
        yield f"it has to end on {ref}, which is not there"
        return
    ready = objects.conditions(node).get("Ready", {})
    if ready.get("status") == "True":
        yield f"it has to end on {ref}, which is Ready"
        return
    why = ready.get("message") or ready.get("reason") or "nobody reports on it"
    yield f"it has to end on {ref}, which is not Ready: {why}"
