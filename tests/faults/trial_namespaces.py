"""Namespaces for trials, and a gate before the API server."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import uuid

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tests.faults import api_gate
from tests.faults import kill_and_retry
from tests.faults import scenario
from tests.functional import manifests
from tools import leftovers

MANAGER = "tests"
_USUAL = (("ServiceAccount", "default"), ("ConfigMap", scenario.USUAL.name))
"""What Kubernetes puts into every namespace."""

SETTLES = 60.0
"""Seconds in which Kubernetes collects the dependents of deleted objects."""


@dataclasses.dataclass(frozen=True)
class TrialNamespaces:
    """All that trials need, and what was there before them."""

    ground: kill_and_retry.TrialEnvironment
    namespaces: tuple[str, ...]
    before: leftovers.Snapshot

    def find_leftovers(self) -> list[str]:
        """What the trials have left anywhere, in the names of this ground."""
        prefix = self.ground.prefix

        def ours(ref: ObjectRef) -> bool:
            usual = (ref.kind, ref.name) in _USUAL
            return prefix in str(ref) and not usual

        found = leftovers.find_leftovers(
            self.ground.cluster, self.before, Deadline.after(SETTLES), ours
        )
        return [str(ref) for ref in found]


@contextlib.contextmanager
def prepare(
    cluster: Cluster, kubeconfig: str, at_once: int
) -> Iterator[TrialNamespaces]:
    """Make the namespaces, and remove them afterwards."""
    prefix = f"k{uuid.uuid4().hex[:8]}"
    names = tuple(f"{prefix}-ns{number}" for number in range(at_once))

    def made(name: str) -> ObjectRef:
        obj = cluster.create(manifests.namespace(name), MANAGER)
        return ObjectRef.of(obj)

    refs = [
        ref for _, ref in results_or_raise(cluster.map_parallel(made, names))
    ]
    try:
        with api_gate.open_gate(kubeconfig) as opened:
            yield TrialNamespaces(
                kill_and_retry.TrialEnvironment(
                    cluster, kubeconfig, opened, prefix
                ),
                names,
                leftovers.take_snapshot(cluster),
            )
    finally:
        for ref in refs:
            obj = cluster.get_metadata(ref)
            if obj:
                cluster.delete(ref, obj["metadata"]["uid"])
