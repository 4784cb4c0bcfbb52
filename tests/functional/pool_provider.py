"""An unknown provider of MachinePools, and its controller.

It keeps Cluster API's contract. Of one sort of pool it shows each machine,
of the other only their number. The machines are Nodes in the memory of the
workload cluster.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube import workload_kubeconfig
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tests.functional.manifests import Obj

CORE = "cluster.x-k8s.io"
GROUP = f"infrastructure.{CORE}"
POOL = GroupKind(CORE, "MachinePool")
MACHINE = GroupKind(CORE, "Machine")
CLUSTERS = f"clusters.{CORE}"
CLUSTER = f"{CORE}/cluster-name"
MEMBER = f"{CORE}/pool-name"
LEAVES = f"{CORE}/delete-machine"
VERSION = "v1.35.0"
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
US = "tests"
MOST = 4
"""Machines that it has for a pool; a request for more waits."""


class PoolProvider:
    """Its kinds, under unique names, and the controllers for them.

    :param namespace: where it searches for pools of the cluster ``workload``.
    """

    def __init__(self, cluster: Cluster, namespace: str, name: str):
        self._cluster = cluster
        self._namespace = namespace
        self._name = name
        self._made = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._connected = contextlib.ExitStack()
        self._workload: Cluster | None = None
        self.infrastructure = GroupKind(GROUP, f"Sun{name}MachinePool")
        self.machine = GroupKind(GROUP, f"Sun{name}Machine")

    def __enter__(self) -> PoolProvider:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        self._connected.close()

    # -- What a package holds ------------------------------------------------

    def definitions(self) -> list[Obj]:
        anything = {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
        }
        schema = {
            "type": "object",
            "properties": {"spec": anything, "status": anything},
        }
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
        }
        found = []
        for kind in (
            self.infrastructure.kind,
            self.machine.kind,
            f"{self.infrastructure.kind}Template",
        ):
            names = {"kind": kind, "plural": f"{kind.lower()}s"}
            found.append(
                {
                    "apiVersion": "apiextensions.k8s.io/v1",
                    "kind": "CustomResourceDefinition",
                    "metadata": {
                        "name": f"{names['plural']}.{GROUP}",
                        "labels": {f"{CORE}/v1beta2": "v1"},
                    },
                    "spec": {
                        "group": GROUP,
                        "scope": "Namespaced",
                        "names": names,
                        "versions": [version],
                    },
                }
            )
        return found

    def pool(self, name: str, replicas: int, *, shown: bool) -> list[Obj]:
        """A pool of the cluster, with its infrastructure.

        :param shown: whether each of its machines is an object.
        """
        template = {
            "clusterName": "workload",
            "version": VERSION,
            "bootstrap": {"dataSecretName": f"{name}-bootstrap"},
            "infrastructureRef": {
                "apiGroup": GROUP,
                "kind": self.infrastructure.kind,
                "name": name,
            },
        }
        return [
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": f"{name}-bootstrap"},
                "stringData": {"value": "#!"},
            },
            self._infra(self.infrastructure, name, shown=shown),
            {
                "apiVersion": f"{CORE}/v1beta2",
                "kind": POOL.kind,
                "metadata": {"name": name},
                "spec": {
                    "clusterName": "workload",
                    "replicas": replicas,
                    "template": {"spec": template},
                },
            },
        ]

    @staticmethod
    def _infra(kind: GroupKind, name: str, **spec: Any) -> Obj:
        return {
            "apiVersion": f"{GROUP}/v1",
            "kind": kind.kind,
            "metadata": {"name": name},
            "spec": spec,
        }

    # -- What its controller does --------------------------------------------

    def _work(self) -> None:
        while not self._over.wait(0.5):
            # What changes or goes in between is looked at again.
            with contextlib.suppress(errors.Error):
                for pool in self._cluster.list_objects(POOL, self._namespace):
                    self._keep(pool)

    def _keep(self, pool: Obj) -> None:
        name = pool["metadata"]["name"]
        used = pool["spec"]["template"]["spec"]["infrastructureRef"]["name"]
        infra = self._cluster.get(
            ObjectRef(GROUP, self.infrastructure.kind, self._namespace, used)
        )
        if infra is None or not objects.field(
            infra, ("metadata", "ownerReferences")
        ):
            return
        wanted = min(pool["spec"]["replicas"], MOST)
        keep = self._shown if infra["spec"]["shown"] else self._counted
        ids = keep(pool, infra, wanted)
        spec = {"providerIDList": ids}
        status: Obj = {
            "ready": True,
            "initialization": {"provisioned": True},
            "replicas": len(ids),
        }
        if infra["spec"]["shown"]:
            status["infrastructureMachineKind"] = self.machine.kind
            # Cluster API counts Machines again when this object changes.
            status["running"] = self._running(name)
        ref = ObjectRef.of(infra)
        if infra["spec"].get("providerIDList") != ids:
            self._cluster.patch(ref, {"spec": spec}, US)
        if infra.get("status") != status:
            self._cluster.patch(
                ref, {"status": status}, US, subresource="status"
            )

    def _counted(self, pool: Obj, infra: Obj, wanted: int) -> list[str]:
        """Whatever is too much has no name but its provider's."""
        ids = infra["spec"].get("providerIDList", [])[:wanted]
        while len(ids) < wanted:
            ids = [*ids, self._node(pool["metadata"]["name"])]
        return ids

    def _shown(self, pool: Obj, infra: Obj, wanted: int) -> list[str]:
        """A marked machine is deleted first; a deleted one is replaced."""
        name = pool["metadata"]["name"]
        found = [
            one
            for one in self._cluster.list_objects(
                self.machine, self._namespace, f"{MEMBER}={name}"
            )
            if "deletionTimestamp" not in one["metadata"]
        ]
        for _ in range(len(found), wanted):
            found.append(self._machine(name, infra))
        if len(found) > wanted:
            self._shrink(name, len(found) - wanted)
        return [one["spec"]["providerID"] for one in found]

    def _machine(self, pool: str, infra: Obj) -> Obj:
        provider_id = self._node(pool)
        name = provider_id.rpartition("/")[2]
        made = self._infra(self.machine, name, providerID=provider_id)
        made["metadata"]["namespace"] = self._namespace
        made["metadata"]["labels"] = {MEMBER: pool, CLUSTER: "workload"}
        stored: Obj = self._cluster.create(made, US)
        self._cluster.patch(
            ObjectRef.of(stored),
            {"status": {"initialization": {"provisioned": True}}},
            US,
            subresource="status",
        )
        return stored

    def _shrink(self, pool: str, much: int) -> None:
        """The Machine goes, and Cluster API takes all else of it away."""
        machines = list(
            self._cluster.list_objects(
                MACHINE, self._namespace, f"{MEMBER}={pool}"
            )
        )
        notes = ("metadata", "annotations", LEAVES)
        machines.sort(key=lambda one: objects.field(one, notes) is None)
        for one in machines[:much]:
            self._cluster.delete(ObjectRef.of(one), objects.uid(one))

    def _running(self, pool: str) -> list[str]:
        """Names of the Machines of a pool that are ready."""
        return [
            one["metadata"]["name"]
            for one in self._cluster.list_objects(
                MACHINE, self._namespace, f"{MEMBER}={pool}"
            )
            for condition in objects.field(one, ("status", "conditions"), ())
            if ("Ready", "True") == (condition["type"], condition["status"])
        ]

    def _node(self, pool: str) -> str:
        """A machine that starts; what its provider calls it."""
        server = self._server()
        self._made += 1
        name = f"{pool}-{self._made}"
        provider_id = f"sun://{self._name}/{name}"
        well = dict.fromkeys(PRESSURES, "False") | {"Ready": "True"}
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "spec": {"providerID": provider_id},
            "status": {
                "conditions": [
                    {"type": kind, "status": status}
                    for kind, status in well.items()
                ],
                "nodeInfo": {"kubeletVersion": VERSION},
            },
        }
        server.create(node, US)
        return provider_id

    def _server(self) -> Cluster:
        """The API server of the workload cluster."""
        if self._workload is None:
            secret = self._cluster.get(
                ObjectRef("", "Secret", self._namespace, "workload-kubeconfig")
            )
            if secret is None:
                raise errors.RequestInvalid("no kubeconfig yet")
            self._workload = k8s_cr.connect(
                workload_kubeconfig.kubeconfig_of(secret)
            )
            self._connected.callback(self._workload.close)
        return self._workload
