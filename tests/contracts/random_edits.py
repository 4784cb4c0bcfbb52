"""What others do to an object of an instance, drawn by lot."""

from __future__ import annotations

import contextlib

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.wait import served
from tests import manifest_strategies
from tests.functional import manifests

OTHER = "another-manager"

REVISION = "deployment.kubernetes.io/revision"
"""An annotation that a controller writes."""

WAYS = (
    "nothing",
    "nothing",
    "apply",
    "force",
    "relabel",
    "patch",
    "own patch",
    "scale",
)

SCALED = ("Deployment", "StatefulSet")


def edit_by_other_manager(
    cluster: Cluster, obj: Manifest, way: str, manifest: Manifest, owner: str
) -> None:
    """Let another client do something to an object; it may be refused.

    :param manifest: what that client would like it to be.
    :param owner: the manager of the object, under whose name a patch is
        not an apply.
    """
    ref, uid = ObjectRef.of(obj), objects.uid(obj)
    labels = {**manifest["metadata"]["labels"], "drawn": None}
    parts = {
        key: value
        for key, value in manifest.items()
        if key not in ("apiVersion", "kind", "metadata")
    }
    with contextlib.suppress(errors.Rejected, errors.FieldConflict):
        if way == "apply":
            cluster.apply(manifest, OTHER, uid=uid)
        elif way == "force":
            cluster.apply(manifest, OTHER, uid=uid, force=True)
        elif way == "relabel":
            cluster.patch(ref, {"metadata": {"labels": labels}}, OTHER)
        elif way == "patch":
            cluster.patch(ref, parts, OTHER)
        elif way == "own patch":
            cluster.patch(ref, parts, owner)
        elif way == "scale" and ref.kind in SCALED:
            body = {"spec": {"replicas": 0}}
            cluster.patch(ref, body, OTHER, subresource="scale")


def define_kinds(cluster: Cluster, group: str, manager: str) -> ObjectRef:
    """Define Gadgets in a group of one's own; return the definition."""
    definition = manifests.definition(
        group, "Gadget", scale=False, spec=manifest_strategies.SPEC
    )
    cluster.apply(definition, manager)
    kind = GroupKind(group, "Gadget")
    served.wait_served(cluster, {kind: ["v1"]}, Deadline.after(60))
    return ObjectRef.of(definition)


def with_group(manifest: Manifest, group: str) -> Manifest:
    """A drawn manifest, as one of that group if it is a Gadget."""
    version = manifest["apiVersion"].replace(manifest_strategies.GROUP, group)
    return {**manifest, "apiVersion": version}
