"""The whole story: a workload cluster of Cluster API, and its kubeconfig."""

from __future__ import annotations

from collections.abc import Sequence
import json

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import delivery
from tacker_k8s_cr.delivery import webhook
from tacker_k8s_cr.kube import kubeconfig
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Report
from tools import csar
from tools.demo.steps import SECONDS
from tools.demo.steps import DemoEnvironment
from tools.demo.steps import Step
from tools.demo.steps import expect
from tools.receiver import Receiver

SAMPLE = csar.SAMPLES / "capi_workload_cluster"
CHANGED = "v1_36"
CAPI = "cluster.x-k8s.io"
MACHINE = GroupKind(CAPI, "Machine")
NODE = GroupKind("", "Node")
NAME = "workload"


class WorkloadCluster:
    """The steps, and what the later ones need of the earlier."""

    def __init__(self, environment: DemoEnvironment, receiver: Receiver):
        self.scene = environment
        self.receiver = receiver
        self._workload: Cluster | None = None

    @property
    def steps(self) -> Sequence[Step]:
        return (
            Step("Instantiate the package", self._instantiate),
            Step("Deliver the kubeconfig to the webhook", self._deliver),
            Step("List the nodes with what the receiver got", self._nodes),
            Step("Scale the workers from 1 to 3", lambda: self._scale(2)),
            Step("Scale the workers back to 2", lambda: self._scale(1)),
            Step("Change the package: v1.35.0 to v1.36.0", self._change),
            Step("Terminate", self._terminate),
        )

    @property
    def requests(self) -> int:
        """Sent to the workload cluster."""
        return self._workload.requests if self._workload else 0

    def close(self) -> None:
        if self._workload:
            self._workload.close()

    # -- Steps ---------------------------------------------------------------

    def _instantiate(self) -> str:
        path = csar.build(SAMPLE, self.scene.folder / "a.zip")
        report = self.scene.instantiate(path)
        conditions = objects.conditions(self._cluster() or {})
        found = conditions.get("Available", {}).get("status")
        expect("True", found, "the Cluster's condition Available")
        return f"{_objects(report)}; the Cluster is Available"

    def _deliver(self) -> str:
        receiver = webhook.Receiver(
            self.receiver.url,
            secrets=(self.receiver.secret,),
            ca_file=str(self.receiver.ca_file),
        )
        receipts = delivery.deliver(
            self.scene.cluster,
            self.scene.instance,
            delivery.Delivery(receiver),
            namespace=self.scene.namespace,
            deadline=Deadline.after(SECONDS),
        )
        expect(1, len(receipts), "receipts")
        accepted = self.receiver.accepted
        expect(
            [receipts[0].message], list(accepted), "rightly signed messages"
        )
        message = json.loads(accepted[receipts[0].message].body)["data"]
        expect(NAME, message["cluster"]["name"], "the cluster's name")
        expect(receipts[0].fingerprint, message["fingerprint"], "fingerprint")
        self._workload = k8s_cr.connect(
            kubeconfig.parse(message["kubeconfig"], "what the receiver got")
        )
        return (
            f"taken with the right signature: {message['apiServer']}, "
            f"Kubernetes {message['kubernetesVersion']}, "
            f"until {message['expires']}"
        )

    def _nodes(self) -> str:
        nodes = self._node_names()
        expect(self._nodes_of_machines(), nodes, "nodes")
        expect(2, len(nodes), "number of nodes")
        return ", ".join(nodes)

    def _scale(self, level: int) -> str:
        self.scene.scale("workers", level)
        expect(level + 1, len(self._machines(workers=True)), "workers")
        expect(self._nodes_of_machines(), self._node_names(), "nodes")
        return f"{level + 1} workers: {', '.join(self._node_names())}"

    def _change(self) -> str:
        before = self._machines()
        path = csar.build(SAMPLE, self.scene.folder / "b.zip", variant=CHANGED)
        self.scene.change(path)
        after = self._machines()
        for name, machine in {**before, **after}.items():
            self.scene.show.print_line(
                f"{name}: {objects.field(machine, ('spec', 'version'))}"
                + ("" if name in after else ", replaced")
            )
        versions = {
            objects.field(machine, ("spec", "version"))
            for machine in after.values()
        }
        expect({"v1.36.0"}, versions, "the machines' versions")
        expect(set(), before.keys() & after.keys(), "machines not replaced")
        expect(len(before), len(after), "number of machines")
        return f"{len(after)} machines replaced"

    def _terminate(self) -> str:
        report = self.scene.terminate()
        expect(False, self.scene.exists, "the record is there")
        return f"{len(report.objects)} objects deleted, the record with them"

    # -- What is there -------------------------------------------------------

    def _cluster(self) -> Manifest | None:
        return self.scene.cluster.get(
            ObjectRef(CAPI, "Cluster", self.scene.namespace, NAME)
        )

    def _machines(self, workers: bool = False) -> dict[str, Manifest]:
        """Machines that stay, by name."""
        found = self.scene.cluster.list_objects(
            MACHINE,
            self.scene.namespace,
            f"{CAPI}/cluster-name={NAME}"
            + (f",!{CAPI}/control-plane" if workers else ""),
        )
        return {
            obj["metadata"]["name"]: obj
            for obj in found
            if not objects.field(obj, ("metadata", "deletionTimestamp"))
        }

    def _nodes_of_machines(self) -> list[str]:
        return sorted(
            objects.field(machine, ("status", "nodeRef", "name"), "")
            for machine in self._machines().values()
        )

    def _node_names(self) -> list[str]:
        """As reported by the workload cluster's own API."""
        if self._workload is None:
            raise AssertionError("no kubeconfig was delivered")
        nodes = self._workload.with_deadline(Deadline.after(30)).list_objects(
            NODE
        )
        return sorted(obj["metadata"]["name"] for obj in nodes)


def _objects(report: Report) -> str:
    return f"{len(report.objects)} objects current"
