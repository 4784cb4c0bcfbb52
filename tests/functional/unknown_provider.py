"""An unknown provider: its kinds, and their controllers.

It keeps Cluster API's contract and reports no more than that requires. kwok
plays its controllers, so that it has no code.
"""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]

CORE = "cluster.x-k8s.io"
INFRASTRUCTURE = f"infrastructure.{CORE}"
CONTROL_PLANE = f"controlplane.{CORE}"


VERSION = "v1.36.3"


class UnknownProvider:
    """The provider, under a name that no other test has."""

    def __init__(self, name: str):
        self.name = name
        self.provider_id = f"moon://{name}"

    def kind(self, part: str) -> str:
        return f"Moon{self.name}{part}"

    def definitions(self) -> list[Obj]:
        return [
            self._definition(INFRASTRUCTURE, "Cluster"),
            self._definition(INFRASTRUCTURE, "Machine"),
            self._definition(INFRASTRUCTURE, "MachineTemplate"),
            self._definition(CONTROL_PLANE, "ControlPlane"),
        ]

    def stages(self) -> list[Obj]:
        provisioned = "initialization:\n  provisioned: true\n"
        return [
            self._stage(INFRASTRUCTURE, "Cluster", provisioned),
            self._stage(
                INFRASTRUCTURE,
                "Machine",
                provisioned,
                spec=f"providerID: {self.provider_id}\n",
            ),
            self._stage(
                CONTROL_PLANE,
                "ControlPlane",
                "initialization:\n"
                "  controlPlaneInitialized: true\n"
                "externalManagedControlPlane: true\n"
                "version: {{ .spec.version | Quote }}\n"
                "observedGeneration: {{ .metadata.generation }}\n",
            ),
        ]

    def node(self) -> Obj:
        """What the only machine becomes; nothing is scheduled to it."""
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": self.name,
                "annotations": {"kwok.x-k8s.io/node": "fake"},
            },
            "spec": {
                "providerID": self.provider_id,
                "taints": [
                    {
                        "key": "example.org/moon",
                        "value": self.name,
                        "effect": "NoSchedule",
                    }
                ],
            },
        }

    def package(self, server: tuple[str, int]) -> list[Obj]:
        """A Cluster of it, with one worker."""
        host, port = server
        return [
            _obj("v1", "Secret", "bootstrap", stringData={"value": "#!"}),
            self._made(
                INFRASTRUCTURE,
                "Cluster",
                controlPlaneEndpoint={"host": host, "port": port},
            ),
            self._made(CONTROL_PLANE, "ControlPlane", version=VERSION),
            self._made(
                INFRASTRUCTURE, "MachineTemplate", template={"spec": {}}
            ),
            _obj(
                f"{CORE}/v1beta2",
                "Cluster",
                self.name,
                spec={
                    "infrastructureRef": self._ref(INFRASTRUCTURE, "Cluster"),
                    "controlPlaneRef": self._ref(
                        CONTROL_PLANE, "ControlPlane"
                    ),
                },
            ),
            _obj(
                f"{CORE}/v1beta2",
                "MachineDeployment",
                self.name,
                spec={
                    "clusterName": self.name,
                    "replicas": 1,
                    "selector": {"matchLabels": {}},
                    "template": {
                        "spec": {
                            "clusterName": self.name,
                            "version": VERSION,
                            "bootstrap": {"dataSecretName": "bootstrap"},
                            "infrastructureRef": self._ref(
                                INFRASTRUCTURE, "MachineTemplate"
                            ),
                        }
                    },
                },
            ),
        ]

    def _ref(self, group: str, part: str) -> Obj:
        return {
            "apiGroup": group,
            "kind": self.kind(part),
            "name": self.name,
        }

    def _made(self, group: str, part: str, **spec: Any) -> Obj:
        return _obj(f"{group}/v1", self.kind(part), self.name, spec=spec)

    def _definition(self, group: str, part: str) -> Obj:
        kind = self.kind(part)
        plural = f"{kind.lower()}s"
        anything = {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
        }
        version: Obj = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {
                "openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": anything, "status": anything},
                }
            },
        }
        if not part.endswith("Template"):
            version["subresources"] = {"status": {}}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": f"{plural}.{group}",
                "labels": {f"{CORE}/v1beta2": "v1"},
            },
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {
                    "kind": kind,
                    "plural": plural,
                    "singular": kind.lower(),
                },
                "versions": [version],
            },
        }

    def _stage(
        self, group: str, part: str, status: str, spec: str = ""
    ) -> Obj:
        """Half a second after the object came, once its owner is there."""
        steps = [_patch("status", status)]
        if spec:
            steps.insert(0, _patch("spec", spec))
        asked = (
            "!has(self.metadata.deletionTimestamp)",
            "has(self.metadata.ownerReferences)",
            "!has(self.status) || !has(self.status.initialization)",
        )
        return {
            "apiVersion": "kwok.x-k8s.io/v1alpha1",
            "kind": "Stage",
            "metadata": {"name": self.kind(part).lower()},
            "spec": {
                "resourceRef": {
                    "apiGroup": f"{group}/v1",
                    "kind": self.kind(part),
                },
                "selector": {
                    "matchExpressions": [
                        {"cel": {"expression": text}} for text in asked
                    ]
                },
                "delay": {"durationMilliseconds": 500},
                "steps": steps,
            },
        }


def _patch(root: str, template: str) -> Obj:
    patch = {"root": root, "type": "merge", "template": template}
    if root == "status":
        patch["subresource"] = "status"
    return {"patch": patch}


def _obj(api_version: str, kind: str, name: str, **parts: Any) -> Obj:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name},
        **parts,
    }
