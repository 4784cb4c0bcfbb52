"""Instances of Tacker's own v2 driver, once this driver serves the API.

Tacker starts with this driver switched off, creates some, and is started again
with it. Tacker's own driver polls every ten seconds, which takes a while; what
can be done in parallel is.
"""

from __future__ import annotations

import pytest

from tests.e2e import handover
from tests.e2e import held_vnf
from tests.e2e import packages
from tests.e2e.packages import Vdu
from tools.tacker import Options
from tools.tacker import rest_api
from tools.tacker.rest_api import Api

pytestmark = pytest.mark.plane


SHORT = (("v2_vnfm.kubernetes_vim_rsc_wait_timeout", "15"),)
"""For Tacker's own driver to give up."""


def switched(on):
    settings = (("tacker_k8s_cr.v2", str(on).lower()), *SHORT)
    return Options(settings=settings, sync=10)


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """A Tacker whose v2 API is served by its own driver."""
    folder = tmp_path_factory.mktemp("switched")
    with handover.running_tacker(folder, switched(on=False)) as found:
        yield found


@pytest.fixture(scope="module")
def v2(before):
    api = Api(before.url, "v2")
    yield api
    api.close()


@pytest.fixture(scope="module")
def make_namespaces(kubectl):
    """Namespaces for the instances, with a name for each."""
    with handover.created_namespaces(kubectl) as namespace_of:
        yield namespace_of


def body(v2, vim, csar, namespace):
    return rest_api.instantiation(v2, vim, csar.files, namespace=namespace)


@pytest.fixture(scope="module")
def instances(
    tmp_path_factory, before, v2, administrator, make_namespaces, kubectl
):
    """Two instances of Tacker's own driver, and one that it failed to make.

    This driver serves the API by now, and has created one, too.
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
    vnfs, begun, states = handover.instantiate_all(
        v2,
        dict.fromkeys(names, csars["1"]),
        lambda name: body(
            v2, administrator, csars["1"], make_namespaces(name)
        ),
    )
    assert {
        "operated": "COMPLETED",
        "watched": "COMPLETED",
        "failed": "FAILED_TEMP",
    } == states
    assert "v2 is false: Tacker's own driver serves" in before.log()

    before.reload(switched(on=True))

    assert "serves the v2 API of Tacker" in before.log()
    vnfs["later"] = v2.create(csars["1"].vnfd)
    v2.done(
        vnfs["later"],
        "instantiate",
        body(v2, administrator, csars["1"], make_namespaces("later")),
    )
    return {"csars": csars, "vnfs": vnfs, "occurrences": begun}


def metadata(v2, vnf):
    return v2.show(vnf)["instantiatedVnfInfo"]["metadata"]


def test_the_driver_of_an_instance_is_recognized_by_its_metadata(
    v2, instances, make_namespaces, kubectl
):
    """Tacker's own keeps manifests there, this one no more than names."""
    vnfs = instances["vnfs"]

    assert "vdu_reses" in metadata(v2, vnfs["operated"])
    assert "tacker_k8s_cr" not in metadata(v2, vnfs["operated"])
    later = metadata(v2, vnfs["later"])
    record = {"record": f"{make_namespaces('later')}/{vnfs['later']}"}
    assert record == later["tacker_k8s_cr"]
    for vdu in later["vdu_reses"].values():
        assert {"kind", "metadata", "spec"} == set(vdu)
        pod = vdu["spec"]["template"]["spec"]
        assert {"name", "image"} == set().union(*pod["containers"])
    handover.assert_unlabelled(
        handover.labels(kubectl, make_namespaces("operated"))
    )
    handover.assert_labelled(
        handover.labels(kubectl, make_namespaces("later"))
    )


def test_an_instance_of_tackers_own_driver_stays_with_it(
    v2, instances, make_namespaces, kubectl, before
):
    """In every operation and rollback, as that driver does them."""
    vnf, space = instances["vnfs"]["operated"], make_namespaces("operated")
    other = instances["csars"]["2"]
    since = before.logged()

    v2.done(vnf, "scale", rest_api.scaling("web", 1))
    assert 2 == len(v2.vnfcs(vnf))
    v2.done(vnf, "scale", rest_api.scaling("web", -1))
    first = handover.pods(v2, vnf)
    assert 1 == len(first)

    info = v2.show(vnf)["instantiatedVnfInfo"]["vnfcInfo"]
    v2.done(vnf, "heal", rest_api.healing([info[0]["id"]]))
    assert 1 == len(handover.pods(v2, vnf))
    assert not first & handover.pods(v2, vnf)

    absent = rest_api.changing(other.vnfd, ["Files/absent.yaml"], ["web"])
    failed = v2.run(vnf, "change_vnfpkg", absent)
    assert "FAILED_TEMP" == failed["operationState"]
    held_vnf.roll_back(v2, failed["id"])

    kubectl("create", "quota", "few", "--hard=pods=1", "-n", space)
    failed = v2.run(vnf, "scale", rest_api.scaling("web", 1))
    assert "FAILED_TEMP" == failed["operationState"]
    held_vnf.roll_back(v2, failed["id"])
    kubectl("delete", "quota", "few", "-n", space)

    v2.done(
        vnf,
        "change_vnfpkg",
        rest_api.changing(other.vnfd, other.files, ["web"]),
    )
    settings = kubectl.json("get", "configmap", "settings", "-n", space)
    # That driver changes workloads only; this one would have changed it.
    assert {"version": "1"} == settings["data"]
    assert "vdu_reses" in metadata(v2, vnf)
    assert "tacker_k8s_cr" not in metadata(v2, vnf)
    handover.assert_unlabelled(handover.labels(kubectl, space))

    v2.done(vnf, "terminate", rest_api.FORCEFUL)
    assert [] == handover.labels(kubectl, space)
    v2.delete(vnf)
    assert f"[{vnf}" not in before.log(since=since)


def test_a_rollback_without_a_record_leaves_unknown_objects(
    v2, instances, make_namespaces, kubectl, before
):
    """An instantiation that Tacker's own driver began before the switch.

    This driver cannot know which instance has created the objects of its
    manifests.
    """
    vnf, occurrence = (
        instances["vnfs"]["failed"],
        instances["occurrences"]["failed"],
    )
    since = before.logged()

    held_vnf.roll_back(v2, occurrence)
    assert 2 == len(handover.labels(kubectl, make_namespaces("failed")))
    assert "no record in the namespace" in before.log(since=since)
    assert "nothing is removed" in before.log(since=since)
    v2.delete(vnf)


def test_a_synchronization_serves_both(
    v2, instances, make_namespaces, kubectl, before
):
    """Replaced Pods are recorded for both kinds of instances.

    Tacker starts that one minute after its own start, which has passed by now.
    """
    vnfs = {name: instances["vnfs"][name] for name in ("watched", "later")}
    handover.check_replaced_pods_are_synchronized(
        v2, kubectl, vnfs, make_namespaces
    )
    assert "vdu_reses" in metadata(v2, vnfs["watched"])
    assert f"Failed to synchronize database vnf: {vnfs['later']}" not in (
        before.log()
    )
