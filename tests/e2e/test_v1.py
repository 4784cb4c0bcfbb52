"""Every operation of Tacker's v1 API, through REST."""

from __future__ import annotations

import time

import pytest
import yaml

from tests.e2e import held_vnf
from tests.e2e import packages
from tests.e2e.packages import Vdu
from tools.csar import SAMPLES
from tools.tacker import rest_api

pytestmark = pytest.mark.plane


@pytest.fixture
def web(tmp_path, v1):
    """A package with a Deployment that is scaled from zero."""
    csar = packages.build(
        tmp_path,
        {
            "web.yaml": [
                packages.config_map("settings", colour="green"),
                blocked_soon(packages.deployment("web", 0)),
            ]
        },
        [Vdu("web", "web", initial=0)],
    )
    v1.upload(csar.path)
    return csar


def blocked_soon(manifest):
    """What shows an error fails its operation after a moment."""
    annotations = {"k8s-cr.tacker.openstack.org/stall-timeout": "2"}
    manifest["metadata"]["annotations"] = annotations
    return manifest


def affected(v1, occurrence):
    """Of each VNFC that an operation changed: how, and its resource.

    Tacker reports that an operation has ended before it has written them.
    """

    def vnfcs():
        found = v1.operation(occurrence["id"])
        changes = found.get("resourceChanges") or {}
        return changes.get("affectedVnfcs") or ()

    held_vnf.wait_for("the affected VNFCs", vnfcs)
    return sorted(
        (vnfc["changeType"], vnfc["computeResource"]["resourceId"])
        for vnfc in vnfcs()
    )


def names(vnfcs):
    return {vnfc["computeResource"]["resourceId"] for vnfc in vnfcs}


def ids(vnfcs):
    return {vnfc["id"] for vnfc in vnfcs}


def levels(v1, instance):
    info = v1.show(instance)["instantiatedVnfInfo"]
    return {i["aspectId"]: i["scaleLevel"] for i in info["scaleStatus"]}


@pytest.mark.requirement("TK-5")
def test_an_instance_is_scaled_and_healed(
    v1,
    vim,
    web,
    namespace,
    kubectl,
    assert_no_leftovers,
    leftover_objects,
):
    """From zero, to zero and back; one VNFC and all."""
    instance = v1.create(web.vnfd)
    v1.done(
        instance,
        "instantiate",
        rest_api.instantiation(v1, vim, web.files, namespace=namespace),
    )
    assert [] == v1.vnfcs(instance)
    assert {"web": 0} == levels(v1, instance)

    out = v1.done(instance, "scale", rest_api.scaling("web", 3))
    three = v1.vnfcs(instance)
    assert {"web"} == {vnfc["vduId"] for vnfc in three}
    assert sorted(("ADDED", name) for name in names(three)) == affected(
        v1, out
    )
    assert {"web": 3} == levels(v1, instance)

    [chosen, *others] = three
    healed = v1.done(instance, "heal", rest_api.healing([chosen["id"]]))
    after = v1.vnfcs(instance)
    assert ids(three) == ids(after)
    assert names(others) < names(after)
    [new] = names(after) - names(three)
    assert {new} == names(v for v in after if v["id"] == chosen["id"])
    assert [("MODIFIED", new)] == affected(v1, healed)

    v1.done(instance, "heal", rest_api.healing([chosen["id"]]))
    assert new not in names(v1.vnfcs(instance))

    deployment = uid(kubectl, namespace, "deployment", "web")
    v1.done(instance, "heal", rest_api.healing(), 180)
    assert 3 == len(v1.vnfcs(instance))
    assert not ids(after) & ids(v1.vnfcs(instance))
    assert deployment == uid(kubectl, namespace, "deployment", "web")
    assert {"web": 3} == levels(v1, instance)

    gone = v1.done(instance, "scale", rest_api.scaling("web", -3))
    assert ["REMOVED"] * 3 == [how for how, _ in affected(v1, gone)]
    assert [] == v1.vnfcs(instance)
    v1.done(instance, "scale", rest_api.scaling("web", 1))
    assert 1 == len(v1.vnfcs(instance))

    v1.done(instance, "terminate", rest_api.FORCEFUL)
    v1.delete(instance)
    assert [] == leftover_objects(instance)


def uid(kubectl, namespace, kind, name):
    path = "-o=jsonpath={.metadata.uid}"
    return kubectl("get", kind, name, "-n", namespace, path)


@pytest.fixture
def cluster_package(tmp_path, v1):
    """The sample with a workload cluster, without its webhook."""
    folder = SAMPLES / "capi_workload_cluster" / packages.MANIFESTS
    csar = packages.build(
        tmp_path,
        {
            path.name: list(yaml.safe_load_all(path.read_text()))
            for path in folder.iterdir()
        },
        [
            Vdu("control_plane", "workload-control-plane"),
            Vdu("workers", "workload-workers"),
        ],
    )
    v1.upload(csar.path)
    return csar


@pytest.mark.capi
@pytest.mark.requirement("TK-16")
def test_machines_are_scaled_and_healed_and_keep_their_cluster(
    v1, vim, cluster_package, namespace, kubectl, assert_no_leftovers
):
    """The chosen one goes; a heal leaves the Cluster.

    Tacker terminates and instantiates for it. The only machine of the
    control plane stays, too, with the cluster's data.
    """
    instance = v1.create(cluster_package.vnfd)
    body = rest_api.instantiation(
        v1, vim, cluster_package.files, namespace=namespace
    )
    v1.done(instance, "instantiate", body, 300)
    before = of_vdus(v1.vnfcs(instance))
    cluster = uid(kubectl, namespace, "cluster", "workload")
    assert {"control_plane", "workers"} == before.keys()

    v1.done(instance, "scale", rest_api.scaling("workers", 1), 240)
    more = [v for v in v1.vnfcs(instance) if v["vduId"] == "workers"]
    assert before["workers"] < ids(more)
    assert 2 == len(more)
    (old,) = names(v for v in more if v["id"] in before["workers"])
    chosen = {"tacker_k8s_cr": {"machines_to_delete": [old]}}
    v1.done(instance, "scale", rest_api.scaling("workers", -1, **chosen), 240)
    less = of_vdus(v1.vnfcs(instance))
    assert before["control_plane"] == less["control_plane"]
    assert ids(more) - before["workers"] == less["workers"]

    v1.done(instance, "heal", rest_api.healing(), 300)

    after = of_vdus(v1.vnfcs(instance))
    assert cluster == uid(kubectl, namespace, "cluster", "workload")
    assert before["control_plane"] == after["control_plane"]
    assert 1 == len(after["workers"])
    assert not less["workers"] & after["workers"]
    v1.done(instance, "terminate", rest_api.FORCEFUL, 300)
    v1.delete(instance)


def of_vdus(vnfcs):
    """By VDU, the ids of its VNFCs."""
    found = {}
    for vnfc in vnfcs:
        found.setdefault(vnfc["vduId"], set()).add(vnfc["id"])
    return found


def test_a_failed_instantiation_is_retried(
    v1,
    vim,
    tmp_path,
    namespace,
    kubectl,
    assert_no_leftovers,
    leftover_objects,
):
    """What was made stays, and the retry goes on with it."""
    csar = packages.build(
        tmp_path,
        {"a.yaml": [held_vnf.held_config_map(), packages.deployment("web")]},
        [Vdu("web", "web")],
    )
    v1.upload(csar.path)
    instance = v1.create(csar.vnfd)
    body = rest_api.instantiation(
        v1,
        vim,
        csar.files,
        namespace=namespace,
        tacker_k8s_cr={"timeout": 8},
    )

    failed = v1.run(instance, "instantiate", body)
    assert "FAILED_TEMP" == failed["operationState"]
    assert (
        f"ConfigMap/{namespace}/{held_vnf.HELD}" in failed["error"]["detail"]
    )
    made = uid(kubectl, namespace, "deployment", "web")

    again = v1.retry(failed["id"])
    assert "FAILED_TEMP" == again["operationState"]

    held_vnf.release_config_map(kubectl, namespace)
    done = v1.retry(failed["id"])
    assert "COMPLETED" == done["operationState"], done.get("error")
    assert made == uid(kubectl, namespace, "deployment", "web")
    assert 1 == len(v1.vnfcs(instance))
    assert [("ADDED", *names(v1.vnfcs(instance)))] == affected(v1, done)

    v1.done(instance, "terminate", rest_api.FORCEFUL)
    v1.delete(instance)
    assert [] == leftover_objects(instance)


def test_a_failed_instantiation_is_rolled_back(
    v1, vim, tmp_path, namespace, assert_no_leftovers, leftover_objects
):
    """Nothing of it is left; the instance can be made again."""
    csar = packages.build(tmp_path, {"a.yaml": [held_vnf.held_config_map()]})
    v1.upload(csar.path)
    instance = v1.create(csar.vnfd)
    body = rest_api.instantiation(
        v1,
        vim,
        csar.files,
        namespace=namespace,
        tacker_k8s_cr={"timeout": 3},
    )
    failed = v1.run(instance, "instantiate", body)
    assert "FAILED_TEMP" == failed["operationState"]
    assert leftover_objects(instance)

    ended = v1.rollback(failed["id"])

    assert "ROLLED_BACK" == ended["operationState"], ended.get("error")
    assert [] == leftover_objects(instance)
    assert "NOT_INSTANTIATED" == v1.show(instance)["instantiationState"]
    v1.delete(instance)


@pytest.mark.requirement("D7")
def test_a_failed_scale_out_is_retried_and_rolled_back(
    v1, vim, web, namespace, kubectl, assert_no_leftovers
):
    """To the number that Tacker still has."""
    instance = v1.create(web.vnfd)
    v1.done(
        instance,
        "instantiate",
        rest_api.instantiation(v1, vim, web.files, namespace=namespace),
    )
    v1.done(instance, "scale", rest_api.scaling("web", 1))
    kept = ids(v1.vnfcs(instance))
    quota = ("create", "quota", "few", "--hard=pods=1", "-n", namespace)
    kubectl(*quota)

    failed = v1.run(instance, "scale", rest_api.scaling("web", 2))
    assert "FAILED_TEMP" == failed["operationState"]
    assert "web" in failed["error"]["detail"]
    assert "FAILED_TEMP" == v1.retry(failed["id"])["operationState"]

    ended = v1.rollback(failed["id"])
    assert "ROLLED_BACK" == ended["operationState"], ended.get("error")
    assert kept == ids(v1.vnfcs(instance))
    assert {"web": 1} == levels(v1, instance)
    replicas = "-o=jsonpath={.spec.replicas}"
    assert "1" == kubectl("get", "deploy", "web", "-n", namespace, replicas)

    kubectl("delete", "quota", "few", "-n", namespace)
    v1.done(instance, "scale", rest_api.scaling("web", 2))
    assert 3 == len(v1.vnfcs(instance))
    v1.done(instance, "terminate", rest_api.FORCEFUL)
    v1.delete(instance)


def test_a_failed_heal_is_retried(
    v1, vim, web, namespace, kubectl, assert_no_leftovers
):
    """Nothing was terminated for it; then all is replaced."""
    instance = v1.create(web.vnfd)
    v1.done(
        instance,
        "instantiate",
        rest_api.instantiation(v1, vim, web.files, namespace=namespace),
    )
    v1.done(instance, "scale", rest_api.scaling("web", 2))
    before = v1.vnfcs(instance)
    deployment = uid(kubectl, namespace, "deployment", "web")
    quota = ("create", "quota", "none", "--hard=pods=0", "-n", namespace)
    kubectl(*quota)

    failed = v1.run(instance, "heal", rest_api.healing())
    assert "FAILED_TEMP" == failed["operationState"]
    assert deployment == uid(kubectl, namespace, "deployment", "web")

    kubectl("delete", "quota", "none", "-n", namespace)
    # The Deployment reports it only when its controller tries once more.
    held_vnf.retry_until_success(v1.retry, failed["id"], "COMPLETED")
    assert 2 == len(v1.vnfcs(instance))
    assert not ids(before) & ids(v1.vnfcs(instance))
    assert {"web": 2} == levels(v1, instance)
    v1.done(instance, "terminate", rest_api.FORCEFUL)
    v1.delete(instance)


def test_a_termination_takes_what_a_failed_heal_left(
    v1,
    vim,
    web,
    namespace,
    kubectl,
    assert_no_leftovers,
    leftover_objects,
):
    """The operation was given up; the instance is still known."""
    instance = v1.create(web.vnfd)
    v1.done(
        instance,
        "instantiate",
        rest_api.instantiation(v1, vim, web.files, namespace=namespace),
    )
    v1.done(instance, "scale", rest_api.scaling("web", 1))
    quota = ("create", "quota", "none", "--hard=pods=0", "-n", namespace)
    kubectl(*quota)
    failed = v1.run(instance, "heal", rest_api.healing())
    assert "FAILED_TEMP" == failed["operationState"]
    v1.fail(failed["id"])

    v1.done(instance, "terminate", rest_api.FORCEFUL)

    v1.delete(instance)
    assert [] == leftover_objects(instance)
    kubectl("delete", "quota", "none", "-n", namespace)


def test_a_package_of_5000_objects_lives(
    v1,
    vim,
    tmp_path,
    namespace,
    assert_no_leftovers,
    leftover_objects,
    record_property,
):
    """The reference stays short, and Tacker's tables few rows."""
    csar = packages.build(
        tmp_path,
        {
            "many.yaml": [
                packages.config_map(f"c-{number:04}", number=str(number))
                for number in range(5000)
            ]
        },
    )
    v1.upload(csar.path)
    instance = v1.create(csar.vnfd)
    body = rest_api.instantiation(
        v1,
        vim,
        csar.files,
        namespace=namespace,
        tacker_k8s_cr={"dry_run": False},
    )

    begun = time.monotonic()
    v1.done(instance, "instantiate", body, 400)
    record_property("instantiate seconds", time.monotonic() - begun)
    begun = time.monotonic()
    v1.done(instance, "terminate", rest_api.FORCEFUL, 400)
    record_property("terminate seconds", time.monotonic() - begun)

    v1.delete(instance)
    assert [] == leftover_objects(instance)
