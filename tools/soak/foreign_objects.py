"""Objects of other managers, among those of the instances.

Some have names like those of an instance, some its label with another name,
and one has the very name that the version ``foreign`` of its package has.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import time
from typing import Any

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tools.plane.errors import PlaneError
from tools.soak import invariants
from tools.soak import observation
from tools.soak import packages
from tools.soak import readiness
from tools.soak.model import Instance

Obj = dict[str, Any]
Others = invariants.Others

MANAGER = "soak-others"
SECONDS = 60.0
"""Until the objects are current."""


def manifests(
    prefix: str, namespaces: Sequence[str], instances: Iterable[Instance]
) -> Iterator[Obj]:
    """Yield the objects of other managers; namespaces come first."""
    for name in namespaces:
        yield _object("v1", "Namespace", name, "")
    group = f"{prefix}-others"
    definition = packages.manifests("definition", "a", group)[2]
    definition["metadata"]["labels"] = {observation.OTHERS: prefix}
    yield definition
    for name in namespaces:
        deployment = packages.manifests("deployments", "a", group)[1]
        deployment["metadata"] |= {
            "namespace": name,
            "labels": {observation.OTHERS: prefix},
        }
        yield deployment
    for instance in instances:
        yield from _beside(instance)


def _beside(instance: Instance) -> Iterator[Obj]:
    name, namespace = instance.name, instance.namespace
    for suffix in ("-config-2", "-foreign", "-confi"):
        found = _object("v1", "ConfigMap", name + suffix, namespace)
        yield {**found, "data": {"value": "of another manager"}}
    labelled = _object("v1", "ConfigMap", f"{name}x-config", namespace)
    labelled["metadata"]["labels"][objects.INSTANCE] = f"{name}x"
    yield labelled
    kept = f"{record_names.PREFIX}{name}-other"
    yield {
        **_object("v1", "Secret", kept, namespace),
        "data": {"value": "b3RoZXI="},
    }


def _object(api_version: str, kind: str, name: str, namespace: str) -> Obj:
    soak = observation.soak_of(namespace or name)
    metadata: Obj = {"name": name, "labels": {observation.OTHERS: soak}}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def create(
    cluster: Cluster,
    prefix: str,
    namespaces: Sequence[str],
    instances: Iterable[Instance],
) -> dict[ObjectRef, str]:
    """Create them; return the namespaces and definitions, with UIDs."""
    brief = cluster.with_deadline(Deadline.after(SECONDS))
    found = list(manifests(prefix, namespaces, instances))
    first = [m for m in found if "namespace" not in m["metadata"]]
    scoped = {
        ObjectRef.of(obj): objects.uid(obj)
        for obj in (brief.create(manifest, MANAGER) for manifest in first)
    }
    rest = [m for m in found if "namespace" in m["metadata"]]
    numbers = range(len(rest))
    for _ in results_or_raise(
        brief.map_parallel(lambda n: brief.create(rest[n], MANAGER), numbers)
    ):
        pass
    return scoped


def wait_settled(
    cluster: Cluster, namespaces: Sequence[str]
) -> Mapping[str, Others]:
    """Wait until they are current; return their digests by namespace."""
    limit = Deadline.after(SECONDS)
    brief = cluster.with_deadline(limit)
    kind = GroupKind("apps", "Deployment")
    while True:
        waiting = [
            obj
            for obj in brief.list_objects(kind, "", observation.OTHERS)
            if obj["metadata"]["namespace"] in namespaces
            and readiness.explain_not_ready(obj)
        ]
        if not waiting:
            break
        if limit.expired:
            raise PlaneError("the objects of other managers are not current")
        time.sleep(0.5)
    return {
        namespace: observation.others(brief, namespace)
        for namespace in namespaces
    }


def remove(cluster: Cluster, scoped: Mapping[ObjectRef, str]) -> None:
    """Delete the namespaces, with what is in them, and the definitions."""
    brief = cluster.with_deadline(Deadline.after(SECONDS))
    for ref, uid in scoped.items():
        brief.delete(ref, uid)
