"""An instance's objects in a cluster, found by our labels."""

from __future__ import annotations

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.state import leases
from tacker_k8s_cr.state import record_secrets


def find_instance_objects(cluster: Cluster, instance: str) -> list[str]:
    """Objects of the instance, and its record; Leases do not count."""
    kinds = [r.group_kind for r in cluster.resources() if "list" in r.verbs]
    listed = []
    for selector in (
        f"k8s-cr.tacker.openstack.org/instance={instance}",
        record_secrets.selector(instance),
    ):
        for kind, objs in cluster.map_parallel(
            lambda k, s=selector: list(cluster.list_metadata(k, "", s)),
            kinds,
        ):
            if isinstance(objs, list) and kind != leases.KIND:
                listed += [f"{kind}/{obj['metadata']['name']}" for obj in objs]
    return sorted(listed)
