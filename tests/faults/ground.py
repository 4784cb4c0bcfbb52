"""Namespaces for trials, and a gate before the API server."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import uuid

from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import ObjectRef
from tests.faults import gate
from tests.faults import story
from tests.faults import trials
from tests.functional import manifests
from tools import leftovers

MANAGER = "tests"
_USUAL = (("ServiceAccount", "default"), ("ConfigMap", story.USUAL.name))
"""What Kubernetes puts into every namespace."""

SETTLES = 60.0
"""Seconds in which Kubernetes collects what belonged to what is gone."""


@dataclasses.dataclass(frozen=True)
class Ground:
    """All that trials need, and what was there before them."""

    ground: trials.Ground
    namespaces: tuple[str, ...]
    before: leftovers.Snapshot

    def left(self) -> list[str]:
        """What the trials have left anywhere, in the names of this ground."""
        prefix = self.ground.prefix

        def ours(ref: ObjectRef) -> bool:
            usual = (ref.kind, ref.name) in _USUAL
            return prefix in str(ref) and not usual

        found = leftovers.remaining(
            self.ground.cluster, self.before, Deadline.after(SETTLES), ours
        )
        return [str(ref) for ref in found]


@contextlib.contextmanager
def prepared(
    cluster: Cluster, kubeconfig: str, at_once: int
) -> Iterator[Ground]:
    """Make the namespaces, and remove them afterwards."""
    prefix = f"k{uuid.uuid4().hex[:8]}"
    names = tuple(f"{prefix}-ns{number}" for number in range(at_once))

    def made(name: str) -> ObjectRef:
        obj = cluster.create(manifests.namespace(name), MANAGER)
        return ObjectRef.of(obj)

    refs = [ref for _, ref in raised(cluster.each(made, names))]
    try:
        with gate.opened(kubeconfig) as opened:
            yield Ground(
                trials.Ground(cluster, kubeconfig, opened, prefix),
                names,
                leftovers.snapshot(cluster),
            )
    finally:
        for ref in refs:
            obj = cluster.get_metadata(ref)
            if obj:
                cluster.delete(ref, obj["metadata"]["uid"])
