"""A VNF whose operations last until the test lets them end."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import json
import pathlib
import time
from typing import Any

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.state import leases
from tests.e2e import packages
from tests.e2e.packages import Csar
from tools.plane.kubectl import Kubectl
from tools.tacker import rest_api
from tools.tacker.rest_api import Api
from tools.tacker.vims import Vim

CROWD = 64
"""Instances of a test with many."""

WHEN = "k8s-cr.tacker.openstack.org/ready-when"
FINALIZER = "example.org/hold"
VDU = "web"
SECONDS = 60.0
PAUSE = 0.1


def build_csar(folder: pathlib.Path, image: str = "web:1") -> Csar:
    """A Deployment that is current once an annotation permits it."""
    deployment = packages.deployment("web", image=f"example.org/{image}")
    deployment["metadata"]["annotations"] = {
        WHEN: "metadata.annotations.state=released, "
        "status.readyReplicas=.spec.replicas, "
        "status.updatedReplicas=.spec.replicas"
    }
    manifests = {
        "settings.yaml": [packages.config_map("settings", image=image)],
        "web.yaml": [deployment],
    }
    return packages.build(folder, manifests, [packages.Vdu(VDU, "web")])


HELD = "held"
"""A ConfigMap that is current once ``release_config_map`` has changed it."""


def held_config_map() -> dict[str, Any]:
    """The ConfigMap, for whose change an operation waits."""
    # Without the key that the patch sets, which an apply would conflict with.
    manifest = packages.config_map(HELD, content="unchanged")
    manifest["metadata"]["annotations"] = {WHEN: "data.state=released"}
    return manifest


def release_config_map(kubectl: Kubectl, namespace: str) -> None:
    """Let the operation end that waits for the ConfigMap."""
    patch = json.dumps({"data": {"state": "released"}})
    kubectl("patch", "configmap", HELD, "-n", namespace, "-p", patch)


def wait_for(
    what: str, seen: Callable[[], object], seconds: float = SECONDS
) -> None:
    """Wait until something can be seen."""
    limit = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < limit, f"not seen: {what}"
        time.sleep(PAUSE)


def retry_until_success(
    again: Callable[[str, float], dict[str, Any]],
    occurrence: str,
    wanted: str,
    times: int = 20,
) -> dict[str, Any]:
    """Tried again until it succeeds: each try has its own few seconds."""
    for _ in range(times):
        found = again(occurrence, 240)
        if found["operationState"] == wanted:
            break
    assert wanted == found["operationState"], found.get("error")
    return found


def assert_stays(seconds: float, seen: Callable[[], object]) -> None:
    """See to it that something stays as it is for a time."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        assert seen()
        time.sleep(PAUSE)


@dataclasses.dataclass(frozen=True)
class HeldVnf:
    """An instance of such a package, in a namespace of its own."""

    api: Api
    id: str
    namespace: str
    kubectl: Kubectl
    csar: Csar

    # -- What holds an operation --------------------------------------------

    def set_state(self, state: str) -> None:
        self.kubectl(
            *("annotate", "deployment", "web", f"state={state}"),
            *("--overwrite", "-n", self.namespace),
        )

    def open(self) -> None:
        self.set_state("released")

    def hold(self) -> None:
        """Keep the settings from going when they are deleted."""
        self._finalizers([FINALIZER])

    def release(self) -> None:
        self._finalizers([])

    def _finalizers(self, names: list[str]) -> None:
        patch = json.dumps({"metadata": {"finalizers": names}})
        self.kubectl(
            *("patch", "configmap", "settings", "--type=merge"),
            *("-p", patch, "-n", self.namespace),
        )

    # -- What can be seen ---------------------------------------------------

    def read_object(self, kind: str, name: str) -> dict[str, Any]:
        """An object; empty when it does not exist."""
        text = self.kubectl(
            *("get", kind, name, "-n", self.namespace),
            *("--ignore-not-found", "-o", "json"),
        )
        found: dict[str, Any] = json.loads(text) if text.strip() else {}
        return found

    @property
    def deployment(self) -> dict[str, Any]:
        return self.read_object("deployment", "web")

    def pods(self) -> set[str]:
        """The UIDs of the pods that stay."""
        items = self.kubectl.json("get", "pods", "-n", self.namespace)["items"]
        return {
            item["metadata"]["uid"]
            for item in items
            if "deletionTimestamp" not in item["metadata"]
        }

    def lock_holder(self, cluster: Cluster) -> str:
        """The holder of the instance's lock; empty when it is free."""
        lease = cluster.get(leases.ref(self.id, self.namespace))
        return leases.holder(lease) if lease else ""

    # -- Operations ---------------------------------------------------------

    def instantiate(self, vim: Vim, **params: Any) -> str:
        """Begin to instantiate; the operation's id."""
        body = rest_api.instantiation(
            self.api,
            vim,
            self.csar.files,
            namespace=self.namespace,
            **params,
        )
        return self.api.start(self.id, "instantiate", body)

    def instantiate_and_wait(self, vim: Vim, **params: Any) -> None:
        """Instantiate, and let the operation end."""
        occurrence = self.instantiate(vim, **params)
        wait_for("the Deployment", lambda: self.deployment)
        self.open()
        wait_completed(self.api, occurrence)

    def terminate_and_wait(self) -> None:
        self.api.done(self.id, "terminate", rest_api.FORCEFUL)
        self.api.delete(self.id)


def roll_back(
    api: Api, occurrence: str, seconds: float = rest_api.SECONDS
) -> None:
    """Roll back an operation, which has to succeed."""
    ended = api.rollback(occurrence, seconds)
    assert "ROLLED_BACK" == ended["operationState"], ended.get("error")


def wait_completed(api: Api, occurrence: str) -> Mapping[str, Any]:
    """The operation, which has to succeed."""
    ended = api.wait(occurrence)
    assert "COMPLETED" == ended["operationState"], ended.get("error")
    return ended
