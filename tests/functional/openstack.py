"""Cluster API's OpenStack provider, with kwok as its controllers.

The definitions are those of its Go module. What a cloud would do is done by
Cluster API's in-memory provider: each OpenStackMachine that may boot has an
instance there, and each OpenStackCluster an API server. Their names are the
same, so that Cluster API's real control plane finds a real workload cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import pathlib
import threading
from typing import Any

import yaml

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tests.functional import go_modules
from tests.functional.manifests import Obj
from tools.plane import stages
from tools.plane.kubectl import Kubectl

MODULE = "sigs.k8s.io/cluster-api-provider-openstack"
CONTRACT = "cluster.x-k8s.io/v1beta1"
CORE = "cluster.x-k8s.io"
GROUP = f"infrastructure.{CORE}"
CLUSTER = GroupKind(GROUP, "OpenStackCluster")
MACHINE = GroupKind(GROUP, "OpenStackMachine")
CLOUD = "cloud.example.org/"
NO_QUOTA = "no-quota"
"""A flavor of which the project may have no instance."""

QUOTA_ERROR = (
    "Quota exceeded for instances: Requested 1, but already used 10 of 10 "
    "instances"
)
US = "tests"
SECONDS = 0.3
"""Between two looks of the cloud."""

_INSTANCE = {
    "inMemory": {
        part: {"provisioning": {"startupDuration": "1s"}}
        for part in ("vm", "node", "apiServer", "etcd")
    }
}


# -- The provider's kinds -----------------------------------------------------


def definitions() -> list[Obj]:
    """With the contract that the provider's kustomization sets.

    Without it Cluster API does not find the objects that Clusters name.
    """
    folder = go_modules.folder("capo", MODULE)
    loaded = k8s_cr.load(folder / "config" / "crd" / "bases")
    return [_labelled(manifest) for manifest in loaded.manifests]


def _labelled(definition: Manifest) -> Obj:
    metadata = definition["metadata"]
    labels = {**metadata.get("labels", {}), CONTRACT: "v1beta1"}
    return {**definition, "metadata": {**metadata, "labels": labels}}


@contextlib.contextmanager
def defined(kubectl: Kubectl) -> Iterator[None]:
    """Add the kinds to the server, unless it has them."""
    name = f"{CLUSTER.kind.lower()}s.{GROUP}"
    if kubectl.run("get", "crd", name).returncode == 0:
        yield
        return
    made = definitions()
    kubectl.apply(made)
    kubectl.wait_established(made)
    yield
    names = [f"crd/{item['metadata']['name']}" for item in made]
    kubectl("delete", "--wait=false", *names)


# -- Its controllers ----------------------------------------------------------

_STAGES = yaml.safe_load(
    (pathlib.Path(__file__).parent / "openstack_stages.yaml").read_text()
)


@contextlib.contextmanager
def animated(kubectl: Kubectl) -> Iterator[None]:
    """Add the Stages that play the provider's controllers."""
    made = _STAGES["items"]
    stages.add(kubectl, made)
    yield
    for stage in made:
        kubectl("delete", "stage", stage["metadata"]["name"])


# -- The cloud ----------------------------------------------------------------


class Cloud:
    """Instances and load balancers of one namespace, in memory."""

    def __init__(self, cluster: Cluster, namespace: str):
        self._cluster = cluster
        self._namespace = namespace
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> Cloud:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._over.wait(SECONDS):
            for kind, act in (
                (CLUSTER, self._serve),
                (MACHINE, self._boot),
            ):
                for obj in self._list(kind):
                    # What is deleted meanwhile is met at the next look.
                    with contextlib.suppress(errors.Error):
                        self._tend(obj, act)

    def _list(self, kind: GroupKind) -> list[Manifest]:
        try:
            return list(self._cluster.list_objects(kind, self._namespace))
        except errors.Error:
            return []

    def _tend(self, obj: Manifest, act: Any) -> None:
        mine = self._shadow(obj)
        if "deletionTimestamp" not in obj["metadata"]:
            act(obj, mine)
        elif found := self._cluster.get(mine):
            self._cluster.delete(mine, objects.uid(found))
        else:
            self._say(obj, released="yes")

    def _shadow(self, obj: Manifest) -> ObjectRef:
        """What stands for it in the in-memory provider."""
        kind = obj["kind"].replace("OpenStack", "Dev")
        return ObjectRef(GROUP, kind, self._namespace, obj["metadata"]["name"])

    def _serve(self, obj: Manifest, mine: ObjectRef) -> None:
        owner = _owner(obj, "Cluster")
        if owner is None:
            return
        found = self._cluster.get(mine)
        if found is None:
            self._make(mine, owner, {"backend": {"inMemory": {}}}, {})
            return
        endpoint = objects.field(found, ("spec", "controlPlaneEndpoint"), {})
        if endpoint.get("port"):
            self._say(obj, host=endpoint["host"], port=str(endpoint["port"]))

    def _boot(self, obj: Manifest, mine: ObjectRef) -> None:
        owner = _owner(obj, "Machine")
        if owner is None or obj["spec"]["flavor"] == NO_QUOTA:
            return
        found = self._cluster.get(mine)
        if found is None:
            machine = self._cluster.get(
                ObjectRef(CORE, "Machine", self._namespace, owner["name"])
            )
            path = ("spec", "bootstrap", "dataSecretName")
            if machine and objects.field(machine, path, ""):
                labels = obj["metadata"]["labels"]
                self._make(mine, owner, {"backend": _INSTANCE}, labels)
            return
        if identity := objects.field(found, ("spec", "providerID"), ""):
            self._say(obj, instance=identity)

    def _make(
        self,
        ref: ObjectRef,
        owner: Mapping[str, Any],
        spec: Obj,
        labels: Mapping[str, str],
    ) -> None:
        self._cluster.create(
            {
                "apiVersion": f"{GROUP}/v1beta2",
                "kind": ref.kind,
                "metadata": {
                    "name": ref.name,
                    "namespace": ref.namespace,
                    "labels": dict(labels),
                    # The provider fails where an object has had none.
                    "annotations": {f"{CLOUD}stands-for": ref.name},
                    "ownerReferences": [owner],
                },
                "spec": spec,
            },
            US,
        )

    def _say(self, obj: Manifest, **said: str) -> None:
        """Tell the Stages, by annotations."""
        known = obj["metadata"].get("annotations", {})
        new = {CLOUD + key: value for key, value in said.items()}
        if new.items() - known.items():
            patch = {"metadata": {"annotations": new}}
            self._cluster.patch(ObjectRef.of(obj), patch, US)


def _owner(obj: Manifest, kind: str) -> dict[str, Any] | None:
    """The reference to its owner of a kind of Cluster API's own."""
    for item in obj["metadata"].get("ownerReferences", ()):
        if item["kind"] == kind and item["apiVersion"].startswith(CORE):
            return {
                key: item[key] for key in ("apiVersion", "kind", "name", "uid")
            }
    return None
