"""Instances of Tacker's own v2 driver, once this driver serves the API.

Tacker starts with this driver switched off, creates some, and is started again
with it. Tacker's own driver polls every ten seconds, which takes a while; what
can be done in parallel is.
"""

from __future__ import annotations

import json

import pytest

from tests.e2e import held_vnf
from tests.e2e import packages
from tests.e2e.packages import Vdu
from tools.tacker import Host
from tools.tacker import Options
from tools.tacker import rest_api
from tools.tacker.rest_api import Api

pytestmark = pytest.mark.plane

LABEL = "k8s-cr.tacker.openstack.org/instance"

SHORT = (("v2_vnfm.kubernetes_vim_rsc_wait_timeout", "15"),)
"""For Tacker's own driver to give up."""


def switched(on):
    settings = (("tacker_k8s_cr.v2", str(on).lower()), *SHORT)
    return Options(settings=settings, sync=10)


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """A Tacker whose v2 API is served by its own driver."""
    found = Host.of(tmp_path_factory.mktemp("switched") / "run")
    found.up(switched(on=False))
    yield found
    found.down()


@pytest.fixture(scope="module")
def v2(before):
    api = Api(before.url, "v2")
    yield api
    api.close()


@pytest.fixture(scope="module")
def make_namespaces(kubectl):
    """Namespaces for the instances, with a name for each."""
    made = {}

    def space(name):
        if name not in made:
            made[name] = f"handover-{name}-{id(made):x}"
            kubectl("create", "namespace", made[name])
        return made[name]

    yield space
    for name in made.values():
        kubectl("delete", "namespace", name, "--wait=false")


def body(v2, vim, csar, namespace):
    return rest_api.instantiation(v2, vim, csar.files, namespace=namespace)


@pytest.fixture(scope="module")
def made(
    tmp_path_factory, before, v2, administrator, make_namespaces, kubectl
):
    """Two instances of Tacker's own driver, and one that it failed to make.

    Ours serves the API by now, and has made one, too.
    """
    folder = tmp_path_factory.mktemp("packages")
    csars = {}
    for version in ("1", "2"):
        image = f"registry.example.org/web:{version}"
        csars[version] = packages.build(
            folder,
            {
                "web.yaml": [
                    packages.deployment("web", image=image),
                    packages.config_map("settings", version=version),
                ]
            },
            [Vdu("web", "web")],
        )
        v2.upload(csars[version].path)
    full = make_namespaces("failed")
    kubectl("create", "quota", "none", "--hard=pods=0", "-n", full)
    names = ("operated", "watched", "failed")
    vnfs = {name: v2.create(csars["1"].vnfd) for name in names}
    begun = {
        name: v2.start(
            vnf,
            "instantiate",
            body(v2, administrator, csars["1"], make_namespaces(name)),
        )
        for name, vnf in vnfs.items()
    }
    states = {
        name: v2.wait(occurrence)["operationState"]
        for name, occurrence in begun.items()
    }
    assert {
        "operated": "COMPLETED",
        "watched": "COMPLETED",
        "failed": "FAILED_TEMP",
    } == states
    assert "v2 is false: Tacker's own driver serves" in before.log()

    before.reload(switched(on=True))

    assert "serves the v2 API of Tacker" in before.log()
    vnfs["ours"] = v2.create(csars["1"].vnfd)
    v2.done(
        vnfs["ours"],
        "instantiate",
        body(v2, administrator, csars["1"], make_namespaces("ours")),
    )
    return {"csars": csars, "vnfs": vnfs, "occurrences": begun}


def metadata(v2, vnf):
    return v2.show(vnf)["instantiatedVnfInfo"]["metadata"]


def pods(v2, vnf):
    return {v["computeResource"]["resourceId"] for v in v2.vnfcs(vnf)}


def labels(kubectl, namespace):
    """Labels of all objects that an instance has there."""
    listed = kubectl.json("get", "deployments,configmaps", "-n", namespace)
    return [
        item["metadata"].get("labels", {})
        for item in listed["items"]
        if item["metadata"]["name"] != "kube-root-ca.crt"
    ]


def test_the_driver_of_an_instance_is_recognized_by_its_metadata(
    v2, made, make_namespaces, kubectl
):
    """Tacker's own keeps manifests there, ours no more than names."""
    vnfs = made["vnfs"]

    assert "vdu_reses" in metadata(v2, vnfs["operated"])
    assert "tacker_k8s_cr" not in metadata(v2, vnfs["operated"])
    ours = metadata(v2, vnfs["ours"])
    record = {"record": f"{make_namespaces('ours')}/{vnfs['ours']}"}
    assert record == ours["tacker_k8s_cr"]
    for vdu in ours["vdu_reses"].values():
        assert {"kind", "metadata", "spec"} == set(vdu)
        pod = vdu["spec"]["template"]["spec"]
        assert {"name", "image"} == set().union(*pod["containers"])
    assert all(
        LABEL not in item
        for item in labels(kubectl, make_namespaces("operated"))
    )
    assert all(
        LABEL in item for item in labels(kubectl, make_namespaces("ours"))
    )


def test_an_instance_of_tackers_own_driver_stays_with_it(
    v2, made, make_namespaces, kubectl, before
):
    """In every operation and rollback, as that driver does them."""
    vnf, space = made["vnfs"]["operated"], make_namespaces("operated")
    other = made["csars"]["2"]
    since = before.logged()

    v2.done(vnf, "scale", rest_api.scaling("web", 1))
    assert 2 == len(v2.vnfcs(vnf))
    v2.done(vnf, "scale", rest_api.scaling("web", -1))
    first = pods(v2, vnf)
    assert 1 == len(first)

    info = v2.show(vnf)["instantiatedVnfInfo"]["vnfcInfo"]
    v2.done(vnf, "heal", rest_api.healing([info[0]["id"]]))
    assert 1 == len(pods(v2, vnf))
    assert not first & pods(v2, vnf)

    absent = rest_api.changing(other.vnfd, ["Files/absent.yaml"], ["web"])
    failed = v2.run(vnf, "change_vnfpkg", absent)
    assert "FAILED_TEMP" == failed["operationState"]
    back = v2.rollback(failed["id"])
    assert "ROLLED_BACK" == back["operationState"], back.get("error")

    kubectl("create", "quota", "few", "--hard=pods=1", "-n", space)
    failed = v2.run(vnf, "scale", rest_api.scaling("web", 1))
    assert "FAILED_TEMP" == failed["operationState"]
    back = v2.rollback(failed["id"])
    assert "ROLLED_BACK" == back["operationState"], back.get("error")
    kubectl("delete", "quota", "few", "-n", space)

    v2.done(
        vnf,
        "change_vnfpkg",
        rest_api.changing(other.vnfd, other.files, ["web"]),
    )
    said = kubectl("get", "configmap", "settings", "-n", space, "-o", "json")
    # That driver changes workloads only; ours would have changed it.
    assert {"version": "1"} == json.loads(said)["data"]
    assert "vdu_reses" in metadata(v2, vnf)
    assert "tacker_k8s_cr" not in metadata(v2, vnf)
    assert all(LABEL not in item for item in labels(kubectl, space))

    v2.done(vnf, "terminate", rest_api.FORCEFUL)
    assert [] == labels(kubectl, space)
    v2.delete(vnf)
    assert f"[{vnf}" not in before.log(since=since)


def test_a_rollback_without_a_record_leaves_unknown_objects(
    v2, made, make_namespaces, kubectl, before
):
    """An instantiation that Tacker's own driver began before the switch.

    Ours cannot know whose the objects are that its manifests name.
    """
    vnf, occurrence = made["vnfs"]["failed"], made["occurrences"]["failed"]
    since = before.logged()

    back = v2.rollback(occurrence)

    assert "ROLLED_BACK" == back["operationState"], back.get("error")
    assert 2 == len(labels(kubectl, make_namespaces("failed")))
    assert "no record in the namespace" in before.log(since=since)
    assert "nothing is removed" in before.log(since=since)
    v2.delete(vnf)


def test_a_synchronization_serves_both(
    v2, made, make_namespaces, kubectl, before
):
    """Replaced Pods are recorded for both kinds of instances.

    Tacker starts that one minute after its own start, which has passed by now.
    """
    vnfs = {name: made["vnfs"][name] for name in ("watched", "ours")}
    known = {name: pods(v2, vnf) for name, vnf in vnfs.items()}
    for name in vnfs:
        kubectl("delete", "pods", "--all", "-n", make_namespaces(name))

    def there(name):
        listed = kubectl(
            "get", "pods", "-n", make_namespaces(name), "-o", "name"
        )
        return {line.partition("/")[2] for line in listed.split()}

    for name, vnf in vnfs.items():
        held_vnf.wait_for(
            f"the pods of {name} in Tacker",
            lambda name=name, vnf=vnf: pods(v2, vnf) == there(name),
        )
        assert not known[name] & pods(v2, vnf)
    assert "vdu_reses" in metadata(v2, vnfs["watched"])
    assert f"Failed to synchronize database vnf: {vnfs['ours']}" not in (
        before.log()
    )
