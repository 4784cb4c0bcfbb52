"""What a running plane can do, beyond serving objects."""

from __future__ import annotations

import json
import os

import pytest

from tools import plane
from tools.plane import stages
from tools.plane import target

pytestmark = [pytest.mark.plane, pytest.mark.stages]


@pytest.fixture
def widget(kubectl, namespace):
    """Makes a Widget of a size."""

    def make(size, name="a"):
        kubectl.apply(
            [
                {
                    "apiVersion": "demo.example.org/v1",
                    "kind": "Widget",
                    "metadata": {"name": name, "namespace": namespace},
                    "spec": {"size": size},
                }
            ]
        )
        return [f"--namespace={namespace}", f"widget/{name}"]

    return make


def condition(kubectl, ref, name="Ready"):
    found = kubectl.json("get", *ref)["status"]["conditions"]
    return {one["type"]: one for one in found}[name]


def test_a_widget_becomes_ready_and_is_deleted_slowly(kubectl, widget):
    """Ready at the generation asked for; a finalizer holds the deletion."""
    ref = widget("small")

    kubectl("wait", "--for=condition=Ready", "--timeout=30s", *ref)
    kubectl("delete", "--wait=false", *ref)

    obj = kubectl.json("get", *ref)
    assert "deletionTimestamp" in obj["metadata"]
    assert ["demo.example.org/widget"] == obj["metadata"]["finalizers"]
    kubectl("wait", "--for=delete", "--timeout=30s", *ref)


@pytest.mark.parametrize(
    ("size", "reason"), [("broken", "QuotaExceeded"), ("failed", "Failed")]
)
def test_a_widget_may_never_become_ready(kubectl, widget, size, reason):
    """Its condition gives the reason, at the generation asked for."""
    ref = widget(size)

    kubectl("wait", "--for=condition=Ready=False", "--timeout=30s", *ref)

    found = condition(kubectl, ref)
    assert reason == found["reason"]
    assert 1 == found["observedGeneration"]


def test_another_size_fixes_a_broken_widget(kubectl, widget):
    """Blocked is not failed."""
    ref = widget("broken")
    kubectl("wait", "--for=condition=Ready=False", "--timeout=30s", *ref)

    widget("small")

    kubectl("wait", "--for=condition=Ready", "--timeout=30s", *ref)


def test_a_slow_widget_is_not_ready_at_first(kubectl, widget):
    """It has its finalizer, and no status yet, when a quick one is ready."""
    slow = widget("slow", "slow")
    quick = widget("small", "quick")

    kubectl("wait", "--for=condition=Ready", "--timeout=30s", *quick)

    assert "status" not in kubectl.json("get", *slow)


def test_stages_for_kinds_of_ones_own_are_added_while_it_runs(
    kubectl, namespace
):
    """A kind that comes with its Stage has a controller at once."""
    group = f"{namespace}.example.org"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gizmos.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Gizmo", "plural": "gizmos"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "x-kubernetes-preserve-unknown-fields": True,
                        }
                    },
                }
            ],
        },
    }
    stage = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": f"{namespace}-gizmo"},
        "spec": {
            "resourceRef": {"apiGroup": f"{group}/v1", "kind": "Gizmo"},
            "selector": {
                "matchExpressions": [
                    {"cel": {"expression": "!has(self.status)"}}
                ]
            },
            "steps": [
                {
                    "patch": {
                        "subresource": "status",
                        "root": "status",
                        "template": "phase: Made",
                    }
                }
            ],
        },
    }
    gizmo = {
        "apiVersion": f"{group}/v1",
        "kind": "Gizmo",
        "metadata": {"name": "a", "namespace": namespace},
    }
    try:
        stages.add(kubectl, [definition, stage])
        kubectl.apply([gizmo])
        kubectl(
            "wait",
            "--for=jsonpath={.status.phase}=Made",
            "--timeout=30s",
            f"--namespace={namespace}",
            f"gizmos.{group}/a",
        )
    finally:
        kubectl("delete", "--ignore-not-found", f"stages/{namespace}-gizmo")
        kubectl("delete", "--ignore-not-found", f"crd/gizmos.{group}")


def test_a_deployment_becomes_available(kubectl, namespace):
    """Controllers, scheduler and kwok's nodes work together."""
    here = f"--namespace={namespace}"
    kubectl("create", "deployment", "web", "--image=any", "--replicas=3", here)

    kubectl(
        "wait",
        "--for=condition=Available",
        "--timeout=60s",
        "deployment/web",
        here,
    )


def test_an_autoscaler_has_a_controller(kubectl, namespace):
    """The HPA controller reports missing metrics, which shows that it runs."""
    here = f"--namespace={namespace}"
    kubectl("create", "deployment", "web", "--image=any", here)
    kubectl("autoscale", "deployment", "web", "--max=3", here)

    kubectl(
        "wait",
        "--for=condition=ScalingActive=False",
        "--timeout=60s",
        "hpa/web",
        here,
    )


@pytest.fixture
def local_plane_target(target_cluster):
    """The local plane; these guarantees hold only for it."""
    if not target_cluster.ours:
        pytest.skip("KUBECONFIG names another cluster than the local plane")


@pytest.mark.usefixtures("local_plane_target", "target_cluster")
@pytest.mark.parametrize(
    ("user", "answer"), [("admin-token", "yes"), ("plain-token", "no")]
)
def test_users_with_a_token_may_what_their_group_may(
    kubectl, tmp_path, user, answer
):
    """One of them is an administrator, the other has no permissions yet."""
    nobody = tmp_path / "kubeconfig"
    content = json.loads(kubectl("config", "view", "--raw", "--output=json"))
    content["users"][0]["user"] = {"token": plane.token(user)}
    nobody.write_text(json.dumps(content))

    done = kubectl.run(
        f"--kubeconfig={nobody}", "auth", "can-i", "list", "secrets", "-A"
    )

    assert answer == done.stdout.strip()


@pytest.mark.usefixtures("local_plane_target", "target_cluster")
def test_a_second_up_is_harmless():
    """Nothing is started when everything runs."""
    assert plane.running()
    assert not plane.ensure()


@pytest.mark.usefixtures("local_plane_target", "target_cluster")
def test_a_plane_that_ran_in_part_is_left_to_its_user():
    """A part that a caller starts does not stop the plane at the end."""
    local = plane.Plane.from_environ(os.environ)
    local.stop(["capi-dev"])

    assert not plane.ensure()
    assert plane.running()


def test_the_cluster_has_every_kind_of_the_local_plane(
    target_cluster, kubectl
):
    """What discovery shows of the local plane is what is asked for."""
    if not target_cluster.ours:
        pytest.skip("KUBECONFIG names another cluster than the local plane")

    shown = kubectl("api-resources", "--output=name").split()

    assert {} == target.missing_features(shown)
