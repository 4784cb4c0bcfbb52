"""What can be shown of the story where there is no Cluster API."""

from __future__ import annotations

from collections.abc import Sequence

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tools import csar
from tools.demo.steps import DemoEnvironment
from tools.demo.steps import Step
from tools.demo.steps import expect

SAMPLE = csar.SAMPLES / "custom_resource"
ASPECT = "routers"

SKIPPED = (
    "a workload cluster, and it being Available",
    "the delivery of its kubeconfig, and its nodes",
    "the change to another version of Kubernetes",
)


class CustomResource:
    """A custom resource with its definition, and a Deployment to scale."""

    def __init__(self, environment: DemoEnvironment):
        self.scene = environment
        self.requests = 0

    @property
    def steps(self) -> Sequence[Step]:
        return (
            Step("Instantiate the package", self._instantiate),
            Step("Scale the routers from 1 to 3", lambda: self._scale(2)),
            Step("Scale the routers back to 2", lambda: self._scale(1)),
            Step("Terminate", self._terminate),
        )

    def close(self) -> None:
        """Nothing was opened."""

    def _instantiate(self) -> str:
        path = csar.build(SAMPLE, self.scene.folder / "a.zip")
        report = self.scene.instantiate(path)
        return f"{len(report.objects)} objects current"

    def _scale(self, level: int) -> str:
        self.scene.scale(ASPECT, level)
        router = self.scene.cluster.get(
            ObjectRef(
                "apps", "Deployment", self.scene.namespace, "call-router"
            )
        )
        found = objects.field(router, ("status", "availableReplicas"))
        expect(level + 1, found, "available replicas")
        return f"{found} routers available"

    def _terminate(self) -> str:
        report = self.scene.terminate()
        expect(False, self.scene.exists, "the record is there")
        return f"{len(report.objects)} objects deleted, the record with them"
