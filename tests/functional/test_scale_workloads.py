"""Workloads and custom resources are scaled by their replica manager."""

from __future__ import annotations

import copy
import dataclasses

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tests.functional import manifests
from tests.functional.kill_after_write import Killed
from tests.functional.kill_after_write import kill_when_waiting

pytestmark = pytest.mark.plane

STORED = {objects.PREFIX + "readiness": "exists"}


def ref(kind, namespace, name, group="apps"):
    return ObjectRef(group, kind, namespace, name)


def as_kind(kind, name, **spec):
    """A workload of another kind than Deployment."""
    made = copy.deepcopy(manifests.deployment(name))
    made["kind"] = kind
    made["spec"].update(spec)
    return made


def autoscaler(name, of, least, most):
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "annotations": STORED},
        "spec": {
            "scaleTargetRef": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": of,
            },
            "minReplicas": least,
            "maxReplicas": most,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {
                        "name": "cpu",
                        "target": {
                            "type": "Utilization",
                            "averageUtilization": 50,
                        },
                    },
                }
            ],
        },
    }


@pytest.mark.requirement(
    "TK-5", "T11", "A2", "D1", "D2", "D4", "IN-12", "IN-13", "CR-1"
)
def test_each_workload_is_scaled_to_the_number(
    cluster, namespace, make_package, make_request, unique_name
):
    """Absolute, to zero and back; a package again shrinks nothing.

    Nor what another client has scaled since. A refusal by the sub-resource is
    reported with the server's message, and an object without replicas is
    refused beforehand.
    """
    group = f"{unique_name}.example.org"
    definition = manifests.definition(group, "Thing")
    (version,) = definition["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    version["subresources"]["scale"]["specReplicasPath"] = ".spec.size.count"
    schema["properties"]["size"] = {
        "type": "object",
        "properties": {"count": {"type": "integer", "maximum": 5}},
    }
    package = make_package(
        manifests.deployment("web", 1),
        as_kind("StatefulSet", "base", serviceName="base", replicas=1),
        as_kind("ReplicaSet", "set", replicas=1),
        definition,
        manifests.custom(group, "Thing", "one", STORED, size={"count": 2}),
        manifests.config_map("settings"),
    )
    k8s_cr.instantiate(make_request(), package)
    workloads = [
        ref("Deployment", namespace, "web"),
        ref("StatefulSet", namespace, "base"),
        ref("ReplicaSet", namespace, "set"),
    ]

    for number in (3, 3, 0, 2):
        report = k8s_cr.scale(make_request(), dict.fromkeys(workloads, number))
        assert {Action.SCALED} == {row.action for row in report.objects}
        for workload in workloads:
            obj = cluster.get(workload)
            assert number == obj["spec"]["replicas"]
            assert number == obj["status"].get("readyReplicas", 0)

    thing = ref("Thing", namespace, "one", group)
    k8s_cr.scale(make_request(), {thing: 4})
    assert {"count": 4} == cluster.get(thing)["spec"]["size"]
    with pytest.raises(errors.Rejected, match=r"less than or equal to 5"):
        k8s_cr.scale(make_request(), {thing: 6})
    assert "instantiated" == k8s_cr.status(make_request()).phase

    settings = ref("ConfigMap", namespace, "settings", "")
    with pytest.raises(errors.NotScalable, match="no replica count"):
        k8s_cr.scale(make_request(), {settings: 2})
    unknown = ref("Deployment", namespace, "absent")
    with pytest.raises(errors.NotScalable, match="is not an object of"):
        k8s_cr.scale(make_request(), {unknown: 2})
    with pytest.raises(errors.NotScalable, match="0 or more, got -1"):
        k8s_cr.scale(make_request(), {workloads[0]: -1})

    cluster.patch(
        workloads[0], {"spec": {"replicas": 5}}, "them", subresource="scale"
    )
    k8s_cr.change(make_request(), package)
    k8s_cr.heal(make_request(), [])

    assert [5, 2, 2] == [
        cluster.get(workload)["spec"]["replicas"] for workload in workloads
    ]
    assert {"count": 4} == cluster.get(thing)["spec"]["size"]
    k8s_cr.terminate(make_request())


@pytest.mark.requirement("P7", "D3")
def test_the_limits_of_an_autoscaler_are_adjusted_on_request(
    cluster, namespace, make_package, make_request
):
    """Else it is named, and nothing is written.

    There are so many at least then, and a package that is applied again
    leaves the bounds where they are. What is scaled out and fails goes back,
    bounds and all. The object's own annotation wins.
    """
    said = manifests.deployment("said", 1)
    said["metadata"]["annotations"] = {
        objects.PREFIX + "autoscaler-limits": "adjust"
    }
    package = make_package(
        manifests.deployment("web", 2),
        autoscaler("auto", "web", 2, 4),
        said,
        autoscaler("other", "said", 1, 2),
    )
    k8s_cr.instantiate(make_request(), package)
    web = ref("Deployment", namespace, "web")
    adjusting = make_request(
        options=k8s_cr.Options(autoscaler_limits="adjust")
    )

    def bounds(name="auto"):
        found = cluster.get(
            ref("HorizontalPodAutoscaler", namespace, name, "autoscaling")
        )
        return found["spec"]["minReplicas"], found["spec"]["maxReplicas"]

    with pytest.raises(
        errors.AutoscalerConflict,
        match="auto, between 2 and 4; to change its limits",
    ):
        k8s_cr.scale(make_request(), {web: 3})
    assert 2 == cluster.get(web)["spec"]["replicas"]

    k8s_cr.scale(adjusting, {web: 3})
    assert ((3, 4), 3) == (bounds(), cluster.get(web)["spec"]["replicas"])
    k8s_cr.scale(adjusting, {web: 6})
    assert ((6, 6), 6) == (bounds(), cluster.get(web)["spec"]["replicas"])
    k8s_cr.change(make_request(), package)
    assert ((6, 6), 6) == (bounds(), cluster.get(web)["spec"]["replicas"])
    k8s_cr.scale(adjusting, {web: 0})
    assert ((6, 6), 0) == (bounds(), cluster.get(web)["spec"]["replicas"])

    # To scale to the number before is to go back, too: Tacker does that.
    for back in (
        lambda: k8s_cr.roll_back(make_request()),
        lambda: k8s_cr.scale(make_request(), {web: 0}),
    ):
        with pytest.raises(Killed):
            k8s_cr.scale(
                dataclasses.replace(adjusting, on_progress=kill_when_waiting),
                {web: 9},
            )
        assert ((9, 9), 9) == (bounds(), cluster.get(web)["spec"]["replicas"])
        back()
        assert ((6, 6), 0) == (bounds(), cluster.get(web)["spec"]["replicas"])

    other = ref("Deployment", namespace, "said")
    k8s_cr.scale(make_request(), {other: 2})
    assert (2, 2) == bounds("other")

    foreign = autoscaler("foreign", "web", 1, 2)
    foreign["metadata"]["namespace"] = namespace
    k8s_cr.change(make_request(), make_package(manifests.deployment("web", 2)))
    cluster.create(foreign, "other-manager")
    with pytest.raises(errors.AutoscalerConflict, match="does not belong"):
        k8s_cr.scale(adjusting, {web: 3})
    k8s_cr.terminate(make_request())
