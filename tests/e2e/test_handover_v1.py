"""Instances of Tacker's own v1 driver, once this driver serves the API.

Tacker starts with its own driver, creates some, and is started again with this
driver. Tacker's own driver sleeps between two polls, which takes a while; what
can be done in parallel is.
"""

from __future__ import annotations

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
NOTE = "tackerK8sCr"
"""Key in the metadata of our instances, as Tacker's v1 API spells it."""

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
    found = Host.of(tmp_path_factory.mktemp("switched") / "run")
    found.up(driven("kubernetes"))
    yield found
    found.down()


@pytest.fixture(scope="module")
def v1(before):
    api = Api(before.url, "v1")
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


@pytest.fixture(scope="module")
def made(tmp_path_factory, before, v1, administrator, make_namespaces):
    """Instances of Tacker's own driver, two of them failed; then ours."""
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
    vnfs = {name: v1.create(csar(name).vnfd) for name in names}
    begun = {
        name: v1.start(vnf, "instantiate", body(name))
        for name, vnf in vnfs.items()
    }
    states = {
        name: v1.wait(occurrence)["operationState"]
        for name, occurrence in begun.items()
    }
    assert {
        "operated": "COMPLETED",
        "watched": "COMPLETED",
        "failed": "FAILED_TEMP",
        "retried": "FAILED_TEMP",
    } == states

    before.reload(driven("kubernetes_cr"))

    vnfs["ours"] = v1.create(csar("ours").vnfd)
    v1.done(vnfs["ours"], "instantiate", body("ours"))
    return {"vnfs": vnfs, "occurrences": begun}


def pods(v1, vnf):
    return {v["computeResource"]["resourceId"] for v in v1.vnfcs(vnf)}


def ids(v1, vnf):
    return {vnfc["id"] for vnfc in v1.vnfcs(vnf)}


def labels(kubectl, namespace):
    """Labels of all objects that an instance has there."""
    listed = kubectl.json("get", "deployments,configmaps", "-n", namespace)
    return [
        item["metadata"].get("labels", {})
        for item in listed["items"]
        if item["metadata"]["name"] != "kube-root-ca.crt"
    ]


def log_lines(log, vnf):
    """What the driver reports about an instance."""
    return [line for line in log.splitlines() if f" [{vnf}" in line]


def test_an_instance_is_its_drivers(v1, made, make_namespaces, kubectl):
    """Ours are noted in the metadata; others are left as they are."""
    ours, theirs = made["vnfs"]["ours"], made["vnfs"]["operated"]

    assert (
        f"{make_namespaces('ours')}/{ours}" == v1.show(ours)["metadata"][NOTE]
    )
    assert NOTE not in v1.show(theirs).get("metadata", {})
    assert all(
        LABEL in item for item in labels(kubectl, make_namespaces("ours"))
    )
    assert not any(
        LABEL in item for item in labels(kubectl, make_namespaces("operated"))
    )


def test_an_instance_of_tackers_own_driver_stays_with_it(
    v1, made, make_namespaces, kubectl, before
):
    """In every operation and rollback, as that driver does them."""
    vnf, space = made["vnfs"]["operated"], make_namespaces("operated")
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
    back = v1.rollback(failed["id"])
    assert "ROLLED_BACK" == back["operationState"], back.get("error")
    assert 1 == len(v1.vnfcs(vnf))

    first, known = pods(v1, vnf), ids(v1, vnf)
    v1.done(vnf, "heal", rest_api.healing(known))
    # That driver keeps the id and changes the name under it.
    assert known == ids(v1, vnf)
    assert not first & pods(v1, vnf)

    uid = "-o=jsonpath={.metadata.uid}"
    web = ("get", "deployment", "web", "-n", space, uid)
    deployment = kubectl(*web)
    v1.done(vnf, "heal", rest_api.healing())
    # And it deletes what it heals, and creates it again.
    assert deployment != kubectl(*web)
    assert not any(LABEL in item for item in labels(kubectl, space))
    assert NOTE not in v1.show(vnf).get("metadata", {})

    v1.done(vnf, "terminate", rest_api.FORCEFUL)
    assert [] == labels(kubectl, space)
    v1.delete(vnf)
    assert [] == log_lines(before.log(since=since), vnf)


def test_a_failed_instantiation_of_tackers_own_driver_stays_with_it(
    v1, made, make_namespaces, kubectl, before
):
    """Rolled back by names, as it was made; retried as it was begun."""
    since = before.logged()
    vnf, occurrence = made["vnfs"]["failed"], made["occurrences"]["failed"]
    assert labels(kubectl, make_namespaces("failed"))

    back = v1.rollback(occurrence)

    assert "ROLLED_BACK" == back["operationState"], back.get("error")
    assert [] == labels(kubectl, make_namespaces("failed"))
    v1.delete(vnf)

    vnf, occurrence = made["vnfs"]["retried"], made["occurrences"]["retried"]
    again = v1.retry(occurrence)
    assert "FAILED_TEMP" == again["operationState"]
    # That driver does not go on with what its first try made.
    assert "Failed to create resource" in again["error"]["detail"]
    assert not any(
        LABEL in item for item in labels(kubectl, make_namespaces("retried"))
    )
    v1.rollback(occurrence)
    for name in ("failed", "retried"):
        assert [] == log_lines(before.log(since=since), made["vnfs"][name])


def test_a_synchronization_serves_both(v1, made, make_namespaces, kubectl):
    """Replaced Pods are recorded for both kinds of instances.

    Tacker starts that one minute after its own start.
    """
    vnfs = {name: made["vnfs"][name] for name in ("watched", "ours")}
    known = {name: pods(v1, vnf) for name, vnf in vnfs.items()}
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
            lambda name=name, vnf=vnf: pods(v1, vnf) == there(name),
        )
        assert not known[name] & pods(v1, vnf)

    kubectl(
        "scale", "deploy/web", "--replicas=3", "-n", make_namespaces("ours")
    )
    held_vnf.wait_for(
        "the scale level of its VNF in Tacker",
        lambda: {"web": 2} == levels(v1, vnfs["ours"]),
    )
    assert 3 == len(v1.vnfcs(vnfs["ours"]))
    for vnf in vnfs.values():
        v1.done(vnf, "terminate", rest_api.FORCEFUL)
        v1.delete(vnf)


def levels(v1, instance):
    info = v1.show(instance)["instantiatedVnfInfo"]
    return {i["aspectId"]: i["scaleLevel"] for i in info["scaleStatus"]}
