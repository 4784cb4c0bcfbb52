"""Tacker with its own driver first, then with this one: what its tests share.

The tests of both APIs begin so, and check the same of the instances.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import functools
import pathlib
from typing import Any

from tests.e2e import held_vnf
from tests.e2e.packages import Csar
from tools.plane.kubectl import Kubectl
from tools.tacker import Host
from tools.tacker import Options
from tools.tacker.rest_api import Api

LABEL = "k8s-cr.tacker.openstack.org/instance"


@contextlib.contextmanager
def running_tacker(folder: pathlib.Path, options: Options) -> Iterator[Host]:
    """A Tacker with these options; a test may reload it with others."""
    found = Host.from_folder(folder / "run")
    found.up(options)
    yield found
    found.down()


@contextlib.contextmanager
def created_namespaces(kubectl: Kubectl) -> Iterator[Callable[[str], str]]:
    """Return the namespace for an instance by its name; make it once."""
    created: dict[str, str] = {}

    def namespace_of(name: str) -> str:
        if name not in created:
            created[name] = f"handover-{name}-{id(created):x}"
            kubectl("create", "namespace", created[name])
        return created[name]

    yield namespace_of
    for name in created.values():
        kubectl("delete", "namespace", name, "--wait=false")


def instantiate_all(
    api: Api,
    csars: Mapping[str, Csar],
    body: Callable[[str], Mapping[str, Any]],
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Instantiate these packages at once, each by the name of its instance.

    Return, by name, the ids of the instances, the ids of the operations, and
    the states in which these ended.
    """
    vnfs = {name: api.create(csar.vnfd) for name, csar in csars.items()}
    begun = {
        name: api.start(vnf, "instantiate", body(name))
        for name, vnf in vnfs.items()
    }
    states = {
        name: api.wait(occurrence)["operationState"]
        for name, occurrence in begun.items()
    }
    return vnfs, begun, states


def pods(api: Api, vnf: str) -> set[str]:
    """The Pods that Tacker lists as VNFCs of an instance."""
    return {v["computeResource"]["resourceId"] for v in api.vnfcs(vnf)}


def labels(kubectl: Kubectl, namespace: str) -> list[dict[str, str]]:
    """Labels of all objects that an instance has there."""
    listed = kubectl.json("get", "deployments,configmaps", "-n", namespace)
    return [
        item["metadata"].get("labels", {})
        for item in listed["items"]
        if item["metadata"]["name"] != "kube-root-ca.crt"
    ]


def check_replaced_pods_are_synchronized(
    api: Api,
    kubectl: Kubectl,
    vnfs: Mapping[str, str],
    namespace_of: Callable[[str], str],
) -> None:
    """Delete the Pods of instances; Tacker lists those that replace them."""
    known = {name: pods(api, vnf) for name, vnf in vnfs.items()}
    for name in vnfs:
        kubectl("delete", "pods", "--all", "-n", namespace_of(name))

    def existing(name: str) -> set[str]:
        listed = kubectl("get", "pods", "-n", namespace_of(name), "-o", "name")
        return {line.partition("/")[2] for line in listed.split()}

    def has_existing_pods(name: str) -> bool:
        return pods(api, vnfs[name]) == existing(name)

    for name, vnf in vnfs.items():
        held_vnf.wait_for(
            f"the pods of {name} in Tacker",
            functools.partial(has_existing_pods, name),
        )
        assert not known[name] & pods(api, vnf)


def assert_labelled(items: Iterable[Mapping[str, str]]) -> None:
    """Check that this driver has made all of these objects."""
    assert all(LABEL in item for item in items)


def assert_unlabelled(items: Iterable[Mapping[str, str]]) -> None:
    """Check that this driver has made none of these objects."""
    assert not any(LABEL in item for item in items)
