"""What an instance has in a cluster, found by the labels of ours."""

from __future__ import annotations

from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.recording import leases
from tacker_k8s_cr.recording import record


def of(cluster: Cluster, instance: str) -> list[str]:
    """Objects of the instance, and its record; Leases do not count."""
    kinds = [r.group_kind for r in cluster.resources() if "list" in r.verbs]
    listed = []
    for selector in (
        f"k8s-cr.tacker.openstack.org/instance={instance}",
        record.selector(instance),
    ):
        for kind, objs in cluster.each(
            lambda k, s=selector: list(cluster.list_metadata(k, "", s)),
            kinds,
        ):
            if isinstance(objs, list) and kind != leases.KIND:
                listed += [f"{kind}/{obj['metadata']['name']}" for obj in objs]
    return sorted(listed)
