"""Workloads and custom resources are scaled by whoever keeps their number."""

from __future__ import annotations

import copy

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.report import Action
from tests.functional import manifests
from tests.functional.dying import Killed
from tests.functional.dying import die

pytestmark = pytest.mark.plane

STORED = {objects.PREFIX + "readiness": "created"}


@pytest.fixture
def life(namespace, deadline):
    return {"namespace": namespace, "deadline": deadline}


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


def test_each_workload_is_scaled_to_the_number(
    cluster, namespace, packed, life, unique
):
    """Absolute, to zero and back; a package again shrinks nothing (TK-5, P7).

    Nor does it what somebody else has scaled since. What the sub-resource
    refuses comes with the server's words, and what has no number is refused
    beforehand (T11).
    """
    group = f"{unique}.example.org"
    definition = manifests.definition(group, "Thing")
    (version,) = definition["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    version["subresources"]["scale"]["specReplicasPath"] = ".spec.size.count"
    schema["properties"]["size"] = {
        "type": "object",
        "properties": {"count": {"type": "integer", "maximum": 5}},
    }
    package = packed(
        manifests.deployment("web", 1),
        as_kind("StatefulSet", "base", serviceName="base", replicas=1),
        as_kind("ReplicaSet", "set", replicas=1),
        definition,
        manifests.custom(group, "Thing", "one", STORED, size={"count": 2}),
        manifests.config_map("settings"),
    )
    k8s_cr.instantiate(cluster, unique, package, **life)
    workloads = [
        ref("Deployment", namespace, "web"),
        ref("StatefulSet", namespace, "base"),
        ref("ReplicaSet", namespace, "set"),
    ]

    for number in (3, 3, 0, 2):
        report = k8s_cr.scale(
            cluster, unique, dict.fromkeys(workloads, number), **life
        )
        assert {Action.SCALED} == {row.action for row in report.rows}
        for workload in workloads:
            obj = cluster.get(workload)
            assert number == obj["spec"]["replicas"]
            assert number == obj["status"].get("readyReplicas", 0)

    thing = ref("Thing", namespace, "one", group)
    k8s_cr.scale(cluster, unique, {thing: 4}, **life)
    assert {"count": 4} == cluster.get(thing)["spec"]["size"]
    with pytest.raises(errors.Rejected, match=r"less than or equal to 5"):
        k8s_cr.scale(cluster, unique, {thing: 6}, **life)
    assert "instantiated" == k8s_cr.status(cluster, unique, **life).phase

    settings = ref("ConfigMap", namespace, "settings", "")
    with pytest.raises(errors.NotScalable, match="no number of replicas"):
        k8s_cr.scale(cluster, unique, {settings: 2}, **life)
    unknown = ref("Deployment", namespace, "absent")
    with pytest.raises(errors.NotScalable, match="is not an object of"):
        k8s_cr.scale(cluster, unique, {unknown: 2}, **life)
    with pytest.raises(errors.NotScalable, match="-1 replicas"):
        k8s_cr.scale(cluster, unique, {workloads[0]: -1}, **life)

    cluster.patch(
        workloads[0], {"spec": {"replicas": 5}}, "them", subresource="scale"
    )
    k8s_cr.change(cluster, unique, package, **life)
    k8s_cr.heal(cluster, unique, [], **life)

    assert [5, 2, 2] == [
        cluster.get(workload)["spec"]["replicas"] for workload in workloads
    ]
    assert {"count": 4} == cluster.get(thing)["spec"]["size"]
    k8s_cr.terminate(cluster, unique, **life)


def test_the_bounds_of_an_autoscaler_are_moved_when_asked(
    cluster, namespace, packed, life, unique
):
    """Else it is named, and nothing is written (P8).

    There are so many at least then, and a package that is applied again
    leaves the bounds where they are. What is scaled out and fails goes back,
    bounds and all (P22). The object's own annotation wins.
    """
    said = manifests.deployment("said", 1)
    said["metadata"]["annotations"] = {objects.PREFIX + "autoscaled": "move"}
    package = packed(
        manifests.deployment("web", 2),
        autoscaler("auto", "web", 2, 4),
        said,
        autoscaler("other", "said", 1, 2),
    )
    k8s_cr.instantiate(cluster, unique, package, **life)
    web = ref("Deployment", namespace, "web")
    move = {"options": k8s_cr.Options(autoscaled="move"), **life}

    def bounds(name="auto"):
        found = cluster.get(
            ref("HorizontalPodAutoscaler", namespace, name, "autoscaling")
        )
        return found["spec"]["minReplicas"], found["spec"]["maxReplicas"]

    with pytest.raises(
        errors.NotScalable, match="auto, between 2 and 4; its bounds are"
    ):
        k8s_cr.scale(cluster, unique, {web: 3}, **life)
    assert 2 == cluster.get(web)["spec"]["replicas"]

    k8s_cr.scale(cluster, unique, {web: 3}, **move)
    assert ((3, 4), 3) == (bounds(), cluster.get(web)["spec"]["replicas"])
    k8s_cr.scale(cluster, unique, {web: 6}, **move)
    assert ((6, 6), 6) == (bounds(), cluster.get(web)["spec"]["replicas"])
    k8s_cr.change(cluster, unique, package, **life)
    assert ((6, 6), 6) == (bounds(), cluster.get(web)["spec"]["replicas"])
    k8s_cr.scale(cluster, unique, {web: 0}, **move)
    assert ((6, 6), 0) == (bounds(), cluster.get(web)["spec"]["replicas"])

    # To scale to the number before is to go back, too: Tacker does that.
    for back in (
        lambda: k8s_cr.roll_back(cluster, unique, **life),
        lambda: k8s_cr.scale(cluster, unique, {web: 0}, **life),
    ):
        with pytest.raises(Killed):
            k8s_cr.scale(cluster, unique, {web: 9}, listen=die, **move)
        assert ((9, 9), 9) == (bounds(), cluster.get(web)["spec"]["replicas"])
        back()
        assert ((6, 6), 0) == (bounds(), cluster.get(web)["spec"]["replicas"])

    other = ref("Deployment", namespace, "said")
    k8s_cr.scale(cluster, unique, {other: 2}, **life)
    assert (2, 2) == bounds("other")

    foreign = autoscaler("foreign", "web", 1, 2)
    foreign["metadata"]["namespace"] = namespace
    k8s_cr.change(
        cluster, unique, packed(manifests.deployment("web", 2)), **life
    )
    cluster.create(foreign, "somebody")
    with pytest.raises(errors.NotScalable, match="no object of the instance"):
        k8s_cr.scale(cluster, unique, {web: 3}, **move)
    k8s_cr.terminate(cluster, unique, **life)
