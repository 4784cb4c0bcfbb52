"""What a request asks for in additionalParams, through a Tacker that runs."""

from __future__ import annotations

import pytest

from tests.e2e import held_vnf
from tests.e2e import packages
from tests.e2e import v2_views
from tests.e2e.packages import Vdu
from tools.tacker import rest_api

pytestmark = pytest.mark.plane


@pytest.fixture
def record_namespace(namespace, kubectl):
    """A namespace for records alone."""
    name = f"{namespace}-records"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def list_objects(kubectl):
    """Names of objects in a namespace; those of the cluster do not count."""

    def found(namespace, kind="configmaps"):
        listed = kubectl("get", kind, "-n", namespace, "-o", "name")
        names = {line.partition("/")[2] for line in listed.split()}
        return names - {"kube-root-ca.crt"}

    return found


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.requirement("P20", "TK-18")
def test_an_object_is_adopted_from_an_instance_in_another_record_namespace(
    request,
    version,
    vim,
    make_package,
    namespace,
    record_namespace,
    list_objects,
    assert_no_leftovers,
    leftover_objects,
):
    """By the id that Tacker gave it.

    The record is in the namespace of the first request. The adopted objects
    are not deleted with the instance that gave them up.
    """
    api = request.getfixturevalue(version)
    csars = [
        make_package(
            packages.config_map(name), packages.config_map("common", of=name)
        )
        for name in ("one", "two")
    ]
    first, second = (api.create(csar.vnfd) for csar in csars)

    def body(csar, **ours):
        ours = {"record_namespace": record_namespace, **ours}
        params = {"namespace": namespace, "tacker_k8s_cr": ours}
        return rest_api.instantiation(api, vim, csar.files, **params)

    api.done(first, "instantiate", body(csars[0]))
    assert list_objects(record_namespace, "secrets")
    assert set() == list_objects(namespace, "secrets")

    ended = api.run(second, "instantiate", body(csars[1]))
    assert "FAILED_TEMP" == ended["operationState"]
    said = f"ConfigMap/{namespace}/common"
    assert said in ended["error"]["detail"]
    assert first in ended["error"]["detail"]
    held_vnf.roll_back(api, ended["id"])
    assert {"one", "common"} == list_objects(namespace)

    api.done(
        second, "instantiate", body(csars[1], transfer_from={first: [said]})
    )
    api.done(first, "terminate", rest_api.FORCEFUL)
    assert {"two", "common"} == list_objects(namespace)
    api.done(second, "terminate", rest_api.FORCEFUL)
    assert set() == list_objects(namespace)
    assert set() == list_objects(record_namespace, "secrets")
    for instance in (first, second):
        api.delete(instance)
        assert [] == leftover_objects(instance)


def job(image):
    """Nothing of what its Pods are made from can be changed."""
    pod = {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": f"example.org/{image}"}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "once",
            "annotations": {"k8s-cr.tacker.openstack.org/readiness": "exists"},
        },
        "spec": {"template": {"spec": pod}},
    }


@pytest.mark.requirement("E4")
def test_what_cannot_be_changed_is_made_again_where_the_request_names_it(
    v2,
    vim,
    make_package,
    namespace,
    kubectl,
    assert_no_leftovers,
    leftover_objects,
):
    """Elsewhere the change is refused, with the server's words."""
    csar, other = make_package(job("a:1")), make_package(job("a:2"))
    vnf = v2.create(csar.vnfd)
    body = rest_api.instantiation(v2, vim, csar.files, namespace=namespace)
    v2.done(vnf, "instantiate", body)
    path = "-o=jsonpath={.metadata.uid}"
    get = ("get", "job", "once", "-n", namespace, path)
    first = kubectl(*get)

    failed = v2.run(
        vnf, "change_vnfpkg", rest_api.changing(other.vnfd, other.files)
    )

    status, detail = v2_views.assert_refused(failed)
    assert 422 == status
    assert "immutable" in detail
    held_vnf.roll_back(v2, failed["id"])
    assert first == kubectl(*get)
    named = {"recreate": [f"Job.batch/{namespace}/once"]}
    asked = rest_api.changing(other.vnfd, other.files, tacker_k8s_cr=named)
    v2.done(vnf, "change_vnfpkg", asked)
    assert first != kubectl(*get)
    v2.done(vnf, "terminate", rest_api.FORCEFUL)
    v2.delete(vnf)
    assert [] == leftover_objects(vnf)


def autoscaler(workload):
    """Of a Deployment; without metrics to scale by."""
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {
            "name": "auto",
            "annotations": {"k8s-cr.tacker.openstack.org/readiness": "exists"},
        },
        "spec": {
            "scaleTargetRef": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": workload,
            },
            "minReplicas": 1,
            "maxReplicas": 2,
        },
    }


def test_a_rollback_restores_the_autoscaler_limits_of_a_scale(
    v1, vim, make_package, namespace, kubectl, leftover_objects
):
    """In v1, whose rollback does not pass the request's parameters on.

    v2 has the same with machines.
    """
    web = packages.deployment("web")
    web["metadata"]["annotations"] = {
        "k8s-cr.tacker.openstack.org/stall-timeout": "2"
    }
    csar = make_package(web, autoscaler("web"), vdus=[Vdu("web", "web")])
    instance = v1.create(csar.vnfd)
    body = rest_api.instantiation(v1, vim, csar.files, namespace=namespace)
    v1.done(instance, "instantiate", body)

    def bounds():
        spec = kubectl.json("get", "hpa", "auto", "-n", namespace)["spec"]
        return spec["minReplicas"], spec["maxReplicas"]

    failed = v1.run(instance, "scale", rest_api.scaling("web", 2))
    assert "FAILED_TEMP" == failed["operationState"]
    assert "between 1 and 2" in failed["error"]["detail"]
    held_vnf.roll_back(v1, failed["id"])
    assert (1, 2) == bounds()

    kubectl("create", "quota", "few", "--hard=pods=1", "-n", namespace)
    moving = {"tacker_k8s_cr": {"autoscaler_limits": "adjust"}}
    failed = v1.run(instance, "scale", rest_api.scaling("web", 2, **moving))
    assert "FAILED_TEMP" == failed["operationState"]
    assert "exceeded quota" in failed["error"]["detail"]
    assert (3, 3) == bounds()

    held_vnf.roll_back(v1, failed["id"])
    assert (1, 2) == bounds()
    path = "-o=jsonpath={.spec.replicas}"
    assert "1" == kubectl("get", "deploy", "web", "-n", namespace, path)
    v1.done(instance, "terminate", rest_api.FORCEFUL)
    v1.delete(instance)
    assert [] == leftover_objects(instance)
