"""What requests ask for, on a real API server, as both APIs carry it out."""

from __future__ import annotations

import dataclasses
import json

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import kubeconfig as kubeconfigs
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import operations
from tacker_k8s_cr.driver import request
from tacker_k8s_cr.objects import ObjectRef
from tests import host

pytestmark = pytest.mark.plane


@pytest.fixture
def spaces(kubectl, unique):
    """Two namespaces: of the instance, and another one."""
    names = (unique, f"{unique}-b")
    for name in names:
        kubectl("create", "namespace", name)
    yield names
    for name in names:
        kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def target(kubectl, kubeconfig, unique, spaces):
    """An instance on a VIM, whose user may do everything."""
    kubectl("create", "serviceaccount", "vnfm", "-n", unique)
    kubectl(
        *("create", "clusterrolebinding", unique),
        *("--clusterrole=cluster-admin", f"--serviceaccount={unique}:vnfm"),
    )
    found = kubeconfigs.load(str(kubeconfig))
    token = kubectl("create", "token", "vnfm", "-n", unique).strip()
    access = {
        "auth_url": found.server,
        "bearer_token": token,
        "ssl_ca_cert": found.ca,
    }
    with host.configured():
        yield instances.Target(unique, unique, access, namespace=unique)
    kubectl("delete", "clusterrolebinding", unique)


def asked(operation="instantiate", **ours):
    """A request with these of our own parameters."""
    return request.read({"tacker_k8s_cr": {"timeout": 60, **ours}}, operation)


def settings(name, namespace="", **data):
    metadata = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": data,
    }


def there(cluster, namespace, *names):
    """Which of these ConfigMaps there are."""
    refs = [ObjectRef("", "ConfigMap", namespace, name) for name in names]
    return [ref.name for ref in refs if cluster.get(ref)]


def test_all_objects_go_to_the_namespace_of_the_request(
    cluster, packed, target, spaces
):
    """With override, whatever manifests say; and so after a change (TK-18)."""
    home, other = spaces
    first = packed(settings("a", other), settings("b"))
    operations.instantiate(target, first, asked(namespaces="override"))

    assert ["a", "b"] == there(cluster, home, "a", "b")
    assert [] == there(cluster, other, "a", "b")

    second = packed(settings("a", other, colour="green"), name="second")
    keep = asked("change", prune={"keep": [f"ConfigMap/{home}/b"]})
    operations.change(target, second, keep)

    assert ["a", "b"] == there(cluster, home, "a", "b")
    assert [] == there(cluster, other, "a", "b")
    operations.terminate(target, asked("terminate"))
    assert [] == there(cluster, home, "a", "b")


def test_a_manifest_that_names_another_namespace_can_be_refused(
    cluster, packed, target, spaces
):
    """Before anything is written (TK-18)."""
    home, other = spaces
    package = packed(settings("a", other), settings("b"))

    with pytest.raises((errors.RequestInvalid, errors.PackageInvalid)):
        operations.instantiate(target, package, asked(namespaces="refuse"))

    assert [] == there(cluster, home, "a", "b")
    assert None is instances.inventory(target)


def test_an_object_is_adopted_by_name(cluster, kubectl, packed, target):
    """Without its name it is somebody else's."""
    kubectl(
        *("create", "configmap", "a", "-n", target.namespace),
        "--from-literal=colour=red",
    )
    package = packed(settings("a", colour="green"))
    with pytest.raises(errors.Owned):
        operations.instantiate(target, package, asked())

    ref = f"ConfigMap/{target.namespace}/a"
    mine = asked(adopt=[ref], conflict="take")
    operations.instantiate(target, package, mine)

    found = json.loads(
        kubectl("get", "configmap", "a", "-n", target.namespace, "-o=json")
    )
    assert {"colour": "green"} == found["data"]
    operations.terminate(target, asked("terminate"))


def test_readiness_is_said_in_the_request(cluster, packed, target):
    """Of a kind or an object; here one that nobody ever reports on."""
    package = packed(settings("a", colour="green"))
    of = {"of": f"ConfigMap/{target.namespace}/a"}

    with pytest.raises(errors.NotReady, match="colour"):
        operations.instantiate(
            target,
            package,
            asked(
                timeout=3,
                readiness=[{**of, "current_when": "data.colour=red"}],
            ),
        )
    operations.instantiate(
        target,
        package,
        asked(readiness=[{**of, "current_when": "data.colour=green"}]),
    )

    operations.terminate(target, asked("terminate"))


def test_an_object_is_taken_from_another_instance(
    cluster, packed, target, spaces, traces
):
    """Which is named by its id, and gives the object up (P20, TK-18)."""
    home, _ = spaces
    other = dataclasses.replace(target, instance=f"{target.instance}-other")
    first = packed(settings("common", a="1"), settings("one"))
    second = packed(settings("common", a="2"), settings("two"), name="b")
    operations.instantiate(target, first, asked())
    taking = {target.instance: [f"ConfigMap/{home}/common"]}

    with pytest.raises(errors.Owned, match=f"instance {target.instance}"):
        operations.instantiate(other, second, asked())
    operations.instantiate(other, second, asked(take_from=taking))
    operations.terminate(target, asked("terminate"))

    assert ["common", "two"] == there(cluster, home, "common", "one", "two")
    operations.terminate(other, asked("terminate"))
    assert [] == there(cluster, home, "common", "one", "two")
    assert [] == traces(other.instance, home)
