"""What requests ask for, on a real API server, as both APIs carry it out."""

from __future__ import annotations

import dataclasses
import json

import pytest

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import operations
from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tests import tacker_host

pytestmark = pytest.mark.plane


@pytest.fixture
def spaces(kubectl, unique_name):
    """Two namespaces: of the instance, and another one."""
    names = (unique_name, f"{unique_name}-b")
    for name in names:
        kubectl("create", "namespace", name)
    yield names
    for name in names:
        kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def target(kubectl, kubeconfig, unique_name, spaces):
    """An instance on a VIM, whose user may do everything."""
    kubectl("create", "serviceaccount", "vnfm", "-n", unique_name)
    kubectl(
        *("create", "clusterrolebinding", unique_name),
        *(
            "--clusterrole=cluster-admin",
            f"--serviceaccount={unique_name}:vnfm",
        ),
    )
    found = kubeconfigs.load(str(kubeconfig))
    token = kubectl("create", "token", "vnfm", "-n", unique_name).strip()
    access = {
        "auth_url": found.server,
        "bearer_token": token,
        "ssl_ca_cert": found.ca,
    }
    with tacker_host.override_configuration():
        yield instances.InstanceTarget(
            unique_name, unique_name, access, namespace=unique_name
        )
    kubectl("delete", "clusterrolebinding", unique_name)


def read_params(operation="instantiate", **ours):
    """A request with these of our own parameters."""
    return additional_params.read(
        {"tacker_k8s_cr": {"timeout": 60, **ours}}, operation
    )


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


def existing_config_maps(cluster, namespace, *names):
    """Which of these ConfigMaps there are."""
    refs = [ObjectRef("", "ConfigMap", namespace, name) for name in names]
    return [ref.name for ref in refs if cluster.get(ref)]


@pytest.mark.requirement("TK-18", "A4")
def test_all_objects_are_created_in_the_namespace_of_the_request(
    cluster, make_package, target, spaces
):
    """With override, whatever manifests say; and so after a change."""
    home, other = spaces
    first = make_package(settings("a", other), settings("b"))
    operations.instantiate(target, first, read_params(namespace_mode="force"))

    assert ["a", "b"] == existing_config_maps(cluster, home, "a", "b")
    assert [] == existing_config_maps(cluster, other, "a", "b")

    second = make_package(settings("a", other, colour="green"), name="second")
    keep = read_params("change", prune={"protect": [f"ConfigMap/{home}/b"]})
    operations.change(target, second, keep)

    assert ["a", "b"] == existing_config_maps(cluster, home, "a", "b")
    assert [] == existing_config_maps(cluster, other, "a", "b")
    operations.terminate(target, read_params("terminate"))
    assert [] == existing_config_maps(cluster, home, "a", "b")


@pytest.mark.requirement("TK-18")
def test_a_manifest_that_names_another_namespace_can_be_refused(
    cluster, make_package, target, spaces
):
    """Before anything is written."""
    home, other = spaces
    package = make_package(settings("a", other), settings("b"))

    with pytest.raises((errors.RequestInvalid, errors.PackageInvalid)):
        operations.instantiate(
            target, package, read_params(namespace_mode="strict")
        )

    assert [] == existing_config_maps(cluster, home, "a", "b")
    assert None is instances.find_inventory(target)


@pytest.mark.requirement("P20")
def test_an_object_is_adopted_by_name(cluster, kubectl, make_package, target):
    """Without its name it is foreign."""
    kubectl(
        *("create", "configmap", "a", "-n", target.namespace),
        "--from-literal=colour=red",
    )
    package = make_package(settings("a", colour="green"))
    with pytest.raises(errors.OwnedByOther):
        operations.instantiate(target, package, read_params())

    ref = f"ConfigMap/{target.namespace}/a"
    mine = read_params(adopt=[ref], field_conflicts="force")
    operations.instantiate(target, package, mine)

    found = json.loads(
        kubectl("get", "configmap", "a", "-n", target.namespace, "-o=json")
    )
    assert {"colour": "green"} == found["data"]
    operations.terminate(target, read_params("terminate"))


@pytest.mark.requirement("TK-18", "C3", "CR-18")
def test_readiness_is_set_in_the_request(cluster, make_package, target):
    """Of a kind or an object; here one without a controller."""
    package = make_package(settings("a", colour="green"))
    of = {"of": f"ConfigMap/{target.namespace}/a"}

    with pytest.raises(errors.ReadinessTimeout, match="colour"):
        operations.instantiate(
            target,
            package,
            read_params(
                timeout=3,
                readiness=[{**of, "ready_when": "data.colour=red"}],
            ),
        )
    operations.instantiate(
        target,
        package,
        read_params(readiness=[{**of, "ready_when": "data.colour=green"}]),
    )

    operations.terminate(target, read_params("terminate"))


@pytest.mark.requirement("P20", "TK-18")
def test_an_object_is_adopted_from_another_instance(
    cluster, make_package, target, spaces, leftover_objects
):
    """Which is named by its id, and gives the object up."""
    home, _ = spaces
    other = dataclasses.replace(target, instance=f"{target.instance}-other")
    first = make_package(settings("common", a="1"), settings("one"))
    second = make_package(settings("common", a="2"), settings("two"), name="b")
    operations.instantiate(target, first, read_params())
    taking = {target.instance: [f"ConfigMap/{home}/common"]}

    with pytest.raises(
        errors.OwnedByOther, match=f"instance {target.instance}"
    ):
        operations.instantiate(other, second, read_params())
    operations.instantiate(other, second, read_params(transfer_from=taking))
    operations.terminate(target, read_params("terminate"))

    assert ["common", "two"] == existing_config_maps(
        cluster, home, "common", "one", "two"
    )
    operations.terminate(other, read_params("terminate"))
    assert [] == existing_config_maps(cluster, home, "common", "one", "two")
    assert [] == leftover_objects(other.instance, home)
