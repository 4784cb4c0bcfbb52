"""What a script changed with Kubernetes' own client, taken into the record."""

from __future__ import annotations

import copy

from kubernetes import client
from kubernetes import config
import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model.objects import ObjectRef
from tests.functional import manifests

pytestmark = pytest.mark.plane


def web(image):
    found = copy.deepcopy(manifests.deployment("web", 2))
    found["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return found


def versioned(number):
    return (
        web(f"example.org/a:{number}"),
        manifests.config_map("settings", key=str(number)),
        manifests.config_map("same", key="kept"),
    )


@pytest.fixture
def script(kubeconfig, namespace):
    """Replaces objects as Tacker's container update script does."""
    api = config.new_client_from_config(str(kubeconfig))

    def update(number):
        apps, core = client.AppsV1Api(api), client.CoreV1Api(api)
        live = apps.read_namespaced_deployment("web", namespace)
        image = f"example.org/a:{number}"
        live.spec.template.spec.containers[0].image = image
        apps.replace_namespaced_deployment("web", namespace, live)
        settings = manifests.config_map("settings", key=str(number))
        core.replace_namespaced_config_map("settings", namespace, settings)
        # It replaces those that are the same, too: their labels are lost.
        same = manifests.config_map("same", key="kept")
        core.replace_namespaced_config_map("same", namespace, same)

    yield update
    api.close()


def test_a_script_changes_an_instance_and_nothing_conflicts_later(
    cluster,
    namespace,
    make_package,
    unique_name,
    script,
    leftover_objects,
    make_request,
):
    """Drift is empty; heal, scale, change and rollback go on from it."""
    ref = ObjectRef("apps", "Deployment", namespace, "web")
    settings = ObjectRef("", "ConfigMap", namespace, "settings")

    def shown():
        spec = cluster.get(ref)["spec"]["template"]["spec"]
        image = spec["containers"][0]["image"]
        return image[-1], cluster.get(settings)["data"]["key"]

    k8s_cr.instantiate(make_request(), make_package(*versioned(1)))
    script(2)
    generation = cluster.get(ref)["metadata"]["generation"]
    assert 3 == len(k8s_cr.drift(make_request()).objects)

    lcm.adopt_changes(make_request(), make_package(*versioned(2)))

    assert generation == cluster.get(ref)["metadata"]["generation"]
    assert () == k8s_cr.drift(make_request()).objects
    k8s_cr.heal(make_request())
    assert ("2", "2") == shown()
    k8s_cr.scale(make_request(), {ref: 3})
    k8s_cr.change(make_request(), make_package(*versioned(3)))
    assert ("3", "3") == shown()
    k8s_cr.roll_back(make_request())
    assert ("2", "2") == shown()
    k8s_cr.terminate(make_request())
    assert [] == leftover_objects(unique_name, namespace)
