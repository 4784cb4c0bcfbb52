"""Delete chunks that were written after their record was deleted.

A write without a response may be carried out later, such as by an etcd
member that was paused. By then the record may be deleted.
"""

from __future__ import annotations

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.state import record_secrets


def remove(cluster: Cluster, instance: str, home: str) -> bool:
    """Delete the chunks of a record that has no index.

    Return whether there were any. None are found where listing Secrets is
    forbidden.

    :param home: the namespace of the record.
    """
    try:
        found = {
            ObjectRef.of(obj): objects.uid(obj)
            for obj in cluster.list_metadata(
                record_secrets.SECRET, home, record_secrets.selector(instance)
            )
        }
    except errors.Forbidden:
        return False
    if record_secrets.secret_ref(instance, home) in found:
        return False
    for _ in results_or_raise(
        cluster.map_parallel(
            lambda ref: cluster.delete(ref, found[ref]), found
        )
    ):
        pass
    return bool(found)
