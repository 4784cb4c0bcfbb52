"""Instances of Tacker's own v1 driver, once this driver serves the API.

Tacker starts with its own driver, creates some, and is started again with this
driver. Tacker's own driver sleeps between two polls, which takes a while; what
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

NOTE = "tackerK8sCr"
"""Key in the metadata of this driver's instances, as the v1 API spells it."""

SHORT = (
    ("kubernetes_vim.stack_retries", "15"),
    ("kubernetes_vim.stack_retry_wait", "1"),
)
"""For Tacker's own driver to look, and to give up."""

PENDING = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {
        "nodeSelector": {"example.org/no": "node"},
        "containers": [{"name": "web", "image": "registry.example.org/web"}],
    },
}
"""What that driver waits for. It takes a Deployment for complete as long as
nothing has looked at it."""


def driven(by):
    return Options(drivers=(by,), settings=SHORT, sync=10)


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """A Tacker whose v1 API is served by its own driver."""
    folder = tmp_path_factory.mktemp("switched")
    with handover.running_tacker(folder, driven("kubernetes")) as found:
        yield found


@pytest.fixture(scope="module")
def v1(before):
    api = Api(before.url, "v1")
    yield api
    api.close()


@pytest.fixture(scope="module")
def make_namespaces(kubectl):
    """Namespaces for the instances, with a name for each."""
    with handover.created_namespaces(kubectl) as namespace_of:
        yield namespace_of


@pytest.fixture(scope="module")
def instances(tmp_path_factory, before, v1, administrator, make_namespaces):
    """Instances of Tacker's own driver, two failed; then one of this one."""
    vim = v1.register_vim(administrator, default=True)
    folder = tmp_path_factory.mktemp("packages")
    settings = packages.config_map("settings", colour="red")
    csars = {
        kind: packages.build(
            folder,
            {"settings.yaml": [settings], "web.yaml": [web]},
            [Vdu("web", "web")],
        )
        for kind, web in (
            ("fine", packages.deployment("web")),
            ("never", PENDING),
        )
    }
    for found in csars.values():
        v1.upload(found.path)

    def csar(name):
        return csars["never" if name in ("failed", "retried") else "fine"]

    def body(name):
        return rest_api.instantiation(
            v1, vim, csar(name).files, namespace=make_namespaces(name)
        )

    names = ("operated", "watched", "failed", "retried")
    vnfs, begun, states = handover.instantiate_all(
        v1, {name: csar(name) for name in names}, body
    )
    assert {
        "operated": "COMPLETED",
        "watched": "COMPLETED",
        "failed": "FAILED_TEMP",
        "retried": "FAILED_TEMP",
    } == states

    before.reload(driven("kubernetes_cr"))

    vnfs["later"] = v1.create(csar("later").vnfd)
    v1.done(vnfs["later"], "instantiate", body("later"))
    return {"vnfs": vnfs, "occurrences": begun}


def ids(v1, vnf):
    return {vnfc["id"] for vnfc in v1.vnfcs(vnf)}


def log_lines(log, vnf):
    """What the driver reports about an instance."""
    return [line for line in log.splitlines() if f" [{vnf}" in line]


def test_an_instance_is_its_drivers(v1, instances, make_namespaces, kubectl):
    """Those of this driver are noted in the metadata, and no others."""
    later, earlier = instances["vnfs"]["later"], instances["vnfs"]["operated"]

    assert (
        f"{make_namespaces('later')}/{later}"
        == v1.show(later)["metadata"][NOTE]
    )
    assert NOTE not in v1.show(earlier).get("metadata", {})
    handover.assert_labelled(
        handover.labels(kubectl, make_namespaces("later"))
    )
    handover.assert_unlabelled(
        handover.labels(kubectl, make_namespaces("operated"))
    )


def test_an_instance_of_tackers_own_driver_stays_with_it(
    v1, instances, make_namespaces, kubectl, before
):
    """In every operation and rollback, as that driver does them."""
    vnf, space = instances["vnfs"]["operated"], make_namespaces("operated")
    since = before.logged()

    v1.done(vnf, "scale", rest_api.scaling("web", 1))
    assert 2 == len(v1.vnfcs(vnf))
    v1.done(vnf, "scale", rest_api.scaling("web", -1))
    assert 1 == len(v1.vnfcs(vnf))

    kubectl("create", "quota", "few", "--hard=pods=1", "-n", space)
    failed = v1.run(vnf, "scale", rest_api.scaling("web", 1))
    assert "FAILED_TEMP" == failed["operationState"]
    # That driver counts from the replicas that there are.
    kubectl("delete", "quota", "few", "-n", space)
    there = "-o=jsonpath={.status.readyReplicas}"
    held_vnf.wait_for(
        "two replicas",
        lambda: "2" == kubectl("get", "deploy", "web", "-n", space, there),
    )
    held_vnf.roll_back(v1, failed["id"])
    assert 1 == len(v1.vnfcs(vnf))

    first, known = handover.pods(v1, vnf), ids(v1, vnf)
    v1.done(vnf, "heal", rest_api.healing(known))
    # That driver keeps the id and changes the name under it.
    assert known == ids(v1, vnf)
    assert not first & handover.pods(v1, vnf)

    uid = "-o=jsonpath={.metadata.uid}"
    web = ("get", "deployment", "web", "-n", space, uid)
    deployment = kubectl(*web)
    v1.done(vnf, "heal", rest_api.healing())
    # And it deletes what it heals, and creates it again.
    assert deployment != kubectl(*web)
    handover.assert_unlabelled(handover.labels(kubectl, space))
    assert NOTE not in v1.show(vnf).get("metadata", {})

    v1.done(vnf, "terminate", rest_api.FORCEFUL)
    assert [] == handover.labels(kubectl, space)
    v1.delete(vnf)
    assert [] == log_lines(before.log(since=since), vnf)


def test_a_failed_instantiation_of_tackers_own_driver_stays_with_it(
    v1, instances, make_namespaces, kubectl, before
):
    """Rolled back by names, as it was made; retried as it was begun."""
    since = before.logged()
    vnf, occurrence = (
        instances["vnfs"]["failed"],
        instances["occurrences"]["failed"],
    )
    assert handover.labels(kubectl, make_namespaces("failed"))

    held_vnf.roll_back(v1, occurrence)
    assert [] == handover.labels(kubectl, make_namespaces("failed"))
    v1.delete(vnf)

    vnf, occurrence = (
        instances["vnfs"]["retried"],
        instances["occurrences"]["retried"],
    )
    again = v1.retry(occurrence)
    assert "FAILED_TEMP" == again["operationState"]
    # That driver does not go on with what its first try made.
    assert "Failed to create resource" in again["error"]["detail"]
    handover.assert_unlabelled(
        handover.labels(kubectl, make_namespaces("retried"))
    )
    v1.rollback(occurrence)
    for name in ("failed", "retried"):
        assert [] == log_lines(
            before.log(since=since), instances["vnfs"][name]
        )


def test_a_synchronization_serves_both(
    v1, instances, make_namespaces, kubectl
):
    """Replaced Pods are recorded for both kinds of instances.

    Tacker starts that one minute after its own start.
    """
    vnfs = {name: instances["vnfs"][name] for name in ("watched", "later")}
    handover.check_replaced_pods_are_synchronized(
        v1, kubectl, vnfs, make_namespaces
    )

    kubectl(
        "scale", "deploy/web", "--replicas=3", "-n", make_namespaces("later")
    )
    held_vnf.wait_for(
        "the scale level of its VNF in Tacker",
        lambda: {"web": 2} == levels(v1, vnfs["later"]),
    )
    assert 3 == len(v1.vnfcs(vnfs["later"]))
    for vnf in vnfs.values():
        v1.done(vnf, "terminate", rest_api.FORCEFUL)
        v1.delete(vnf)


def levels(v1, instance):
    info = v1.show(instance)["instantiatedVnfInfo"]
    return {i["aspectId"]: i["scaleLevel"] for i in info["scaleStatus"]}
