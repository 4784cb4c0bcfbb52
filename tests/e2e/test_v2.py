"""Every operation of Tacker's v2 API, through REST."""

from __future__ import annotations

import contextlib
import http.server
import json
import shutil
import threading

import pytest
import yaml

from tests.e2e import held_vnf
from tests.e2e import packages
from tests.e2e.packages import Vdu
from tests.e2e.v2_views import affected_vnfcs
from tests.e2e.v2_views import info_ids
from tests.e2e.v2_views import levels
from tests.e2e.v2_views import vnfcs_by_vdu
from tests.secrecy import written_texts
from tools import csar as csars
from tools.tacker import rest_api
from tools.tacker.session import RequestRefused

pytestmark = pytest.mark.plane

PLANTED = "planted-in-a-manifest-0815"


def stateful(name):
    """Its Pods keep their names when they are replaced."""
    manifest = packages.deployment(name)
    manifest["kind"] = "StatefulSet"
    manifest["spec"]["serviceName"] = name
    return manifest


def secret(value=PLANTED):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "password"},
        "stringData": {"password": value},
    }


def web(**options):
    """Shows an error early, so that an operation that fails is short."""
    manifest = packages.deployment("web", **options)
    manifest["metadata"]["annotations"] = {
        "k8s-cr.tacker.openstack.org/stall-timeout": "2"
    }
    return manifest


VDUS = (Vdu("web", "web", initial=0), Vdu("db", "db"))


@pytest.fixture
def package(make_package):
    """Uploads a package of these manifests, beside the two VDUs."""

    def build(*manifests, **options):
        return make_package(
            web(**options), stateful("db"), *manifests, vdus=VDUS
        )

    return build


@pytest.fixture
def instance(v2, vim, namespace):
    """Instantiates a package."""

    def instantiate(csar, **params):
        vnf = v2.create(csar.vnfd)
        v2.done(vnf, "instantiate", body(v2, vim, csar, namespace, **params))
        return vnf

    return instantiate


def body(v2, vim, csar, namespace, **driver_params):
    params = {"tacker_k8s_cr": driver_params} if driver_params else {}
    return rest_api.instantiation(
        v2, vim, csar.files, namespace=namespace, **params
    )


def short(seconds):
    """A parameter for an operation that is to fail."""
    return {"tacker_k8s_cr": {"timeout": seconds}}


def names(kubectl, namespace, kind):
    listed = kubectl("get", kind, "-n", namespace, "-o", "name")
    return {line.partition("/")[2] for line in listed.split()}


def ended(v2, occurrence, state):
    found = v2.wait(occurrence)
    assert state == found["operationState"], found.get("error")
    return found


@pytest.mark.smoke
@pytest.mark.requirement("TK-1", "TK-5")
def test_a_custom_resource_lives_through_v2(
    v2,
    vim,
    build_sample,
    upload,
    namespace,
    assert_no_leftovers,
    leftover_objects,
):
    """Instantiated, scaled, terminated; nothing is left."""
    csar = build_sample("custom_resource")
    vnf = v2.create(upload(csar).vnfd)

    v2.done(vnf, "instantiate", body(v2, vim, csar, namespace))

    [first] = v2.vnfcs(vnf)
    assert "router" == first["vduId"]
    v2.done(vnf, "scale", rest_api.scaling("routers", 2))
    assert 3 == len(v2.vnfcs(vnf))
    assert first["id"] in {vnfc["id"] for vnfc in v2.vnfcs(vnf)}
    v2.done(vnf, "terminate", rest_api.FORCEFUL)
    v2.delete(vnf)
    assert [] == leftover_objects(vnf)


def test_the_sample_is_scaled_changed_and_healed(
    v2,
    vim,
    build_sample,
    upload,
    namespace,
    kubectl,
    assert_no_leftovers,
    leftover_objects,
):
    """As its page has it, through Tacker.

    The change replaces the Pods of the Deployment, whose image is another;
    the number that the scale gave it stays. The custom resource is the same
    object through all of it.
    """
    csar, newer = (
        build_sample(
            "custom_resource", replaced={"pause:3.10": f"pause:{version}"}
        )
        for version in ("3.10", "3.10.1")
    )
    vnf = v2.create(upload(csar).vnfd)
    upload(newer)
    v2.done(vnf, "instantiate", body(v2, vim, csar, namespace))
    v2.done(vnf, "scale", rest_api.scaling("routers", 1))
    scaled = {vnfc["id"] for vnfc in v2.vnfcs(vnf)}
    path = "-o=jsonpath={.items[*].metadata.uid}"
    plan = kubectl("get", "dialplans", "-n", namespace, path)

    asked = rest_api.changing(newer.vnfd, newer.files)
    done = v2.done(vnf, "change_vnfpkg", asked)

    changed = {vnfc["id"] for vnfc in v2.vnfcs(vnf)}
    assert 2 == len(scaled) == len(changed)
    assert {
        **dict.fromkeys(scaled, "REMOVED"),
        **dict.fromkeys(changed, "ADDED"),
    } == affected_vnfcs(done)

    one = min(info_ids(v2, vnf, "router"))
    v2.done(vnf, "heal", rest_api.healing([one]))
    assert 1 == len(changed & {vnfc["id"] for vnfc in v2.vnfcs(vnf)})
    v2.done(vnf, "heal", rest_api.healing(all=True))
    healed = {vnfc["id"] for vnfc in v2.vnfcs(vnf)}
    assert 2 == len(healed)
    assert not changed & healed
    assert plan == kubectl("get", "dialplans", "-n", namespace, path)

    v2.done(vnf, "terminate", rest_api.FORCEFUL)
    v2.delete(vnf)
    assert [] == leftover_objects(vnf)


@pytest.mark.requirement("TK-5")
def test_an_instance_is_scaled_and_healed(
    v2, package, instance, assert_no_leftovers, leftover_objects
):
    """From zero, to zero and back; one VNFC and all.

    Each operation lists the VNFCs that it added and removed.
    """
    vnf = instance(package())
    first = vnfcs_by_vdu(v2.vnfcs(vnf))
    assert {"db"} == first.keys()
    assert {"web": 0, "db": 0} == levels(v2, vnf)

    out = v2.done(vnf, "scale", rest_api.scaling("web", 3))
    second = vnfcs_by_vdu(v2.vnfcs(vnf))
    assert first["db"] == second["db"]
    assert dict.fromkeys(second["web"], "ADDED") == affected_vnfcs(out)
    assert {"web": 3, "db": 0} == levels(v2, vnf)

    healed = v2.done(vnf, "heal", rest_api.healing(info_ids(v2, vnf, "db")))
    third = vnfcs_by_vdu(v2.vnfcs(vnf))
    assert second["web"] == third["web"]
    assert {
        **dict.fromkeys(second["db"], "REMOVED"),
        **dict.fromkeys(third["db"], "ADDED"),
    } == affected_vnfcs(healed)

    v2.done(vnf, "heal", rest_api.healing(all=True))
    fourth = vnfcs_by_vdu(v2.vnfcs(vnf))
    assert 3 == len(fourth["web"])
    assert not (fourth["web"] | fourth["db"]) & (third["web"] | third["db"])

    gone = v2.done(vnf, "scale", rest_api.scaling("web", -3))
    assert dict.fromkeys(fourth["web"], "REMOVED") == affected_vnfcs(gone)
    assert {"db": fourth["db"]} == vnfcs_by_vdu(v2.vnfcs(vnf))
    v2.done(vnf, "scale", rest_api.scaling("web", 1))
    assert 1 == len(vnfcs_by_vdu(v2.vnfcs(vnf))["web"])

    last = v2.done(
        vnf,
        "terminate",
        {"terminationType": "GRACEFUL", "gracefulTerminationTimeout": 1},
    )
    assert {"REMOVED"} == set(affected_vnfcs(last).values())
    assert 2 == len(affected_vnfcs(last))
    v2.delete(vnf)
    assert [] == leftover_objects(vnf)


@pytest.mark.requirement("TK-6", "T6", "E2")
def test_a_package_is_changed(
    v2,
    package,
    instance,
    namespace,
    kubectl,
    assert_no_leftovers,
    leftover_objects,
):
    """The whole new one counts, without a VDU named.

    What only the former package has goes; nothing of it is left at the end.
    """
    vnf = instance(package(packages.config_map("less"), secret()))
    v2.done(vnf, "scale", rest_api.scaling("web", 2))
    before = vnfcs_by_vdu(v2.vnfcs(vnf))
    other = package(
        packages.config_map("more"), image="registry.example.org/web:2"
    )

    done = v2.done(
        vnf, "change_vnfpkg", rest_api.changing(other.vnfd, other.files)
    )

    assert "more" in names(kubectl, namespace, "configmaps")
    assert "less" not in names(kubectl, namespace, "configmaps")
    assert "password" not in names(kubectl, namespace, "secrets")
    after = vnfcs_by_vdu(v2.vnfcs(vnf))
    assert before["db"] == after["db"]
    assert 2 == len(after["web"])
    assert {
        **dict.fromkeys(before["web"], "REMOVED"),
        **dict.fromkeys(after["web"], "ADDED"),
    } == affected_vnfcs(done)
    assert other.vnfd == v2.show(vnf)["vnfdId"]
    assert {"web": 2, "db": 0} == levels(v2, vnf)

    v2.done(vnf, "scale", rest_api.scaling("web", -2))
    v2.done(vnf, "terminate", rest_api.FORCEFUL)
    v2.delete(vnf)
    assert [] == leftover_objects(vnf)


def test_a_failed_change_is_retried_and_rolled_back(
    v2,
    package,
    instance,
    namespace,
    kubectl,
    assert_no_leftovers,
    leftover_objects,
):
    """What it removed is restored, what it created is deleted.

    Tacker still has the former package, and the existing Pods.
    """
    vnf = instance(package(packages.config_map("less"), secret()))
    before = v2.show(vnf)
    other = package(packages.config_map("more"), held_vnf.held_config_map())
    asked = rest_api.changing(other.vnfd, other.files, **short(5))

    failed = v2.run(vnf, "change_vnfpkg", asked)
    assert "FAILED_TEMP" == failed["operationState"]
    assert 504 == failed["error"]["status"]
    assert (
        f"ConfigMap/{namespace}/{held_vnf.HELD}" in failed["error"]["detail"]
    )
    assert "FAILED_TEMP" == v2.retry(failed["id"])["operationState"]

    held_vnf.roll_back(v2, failed["id"])
    there = names(kubectl, namespace, "configmaps")
    assert "less" in there
    assert not {"more", held_vnf.HELD} & there
    assert "password" in names(kubectl, namespace, "secrets")
    after = v2.show(vnf)
    for key in ("flavourId", "metadata", "scaleStatus", "vnfcResourceInfo"):
        assert (
            before["instantiatedVnfInfo"][key]
            == (after["instantiatedVnfInfo"][key])
        )
    assert before["vnfdId"] == after["vnfdId"]

    # The same once more, with the obstacle out of the way.
    failed = v2.run(vnf, "change_vnfpkg", asked)
    held_vnf.release_config_map(kubectl, namespace)
    done = v2.retry(failed["id"])
    assert "COMPLETED" == done["operationState"], done.get("error")
    assert "less" not in names(kubectl, namespace, "configmaps")
    v2.done(vnf, "terminate", rest_api.FORCEFUL)
    v2.delete(vnf)
    assert [] == leftover_objects(vnf)


def test_a_failed_instantiation_is_retried_rolled_back_or_failed(
    v2,
    vim,
    package,
    namespace,
    kubectl,
    assert_no_leftovers,
    leftover_objects,
):
    """Created objects are found by the record; Tacker's database has none.

    An abandoned instance is instantiated again, by a new request.
    """
    csar = package(held_vnf.held_config_map())
    vnf = v2.create(csar.vnfd)
    asked = body(v2, vim, csar, namespace, timeout=5)

    failed = v2.run(vnf, "instantiate", asked)
    assert "FAILED_TEMP" == failed["operationState"]
    assert (504, "Deadline passed") == (
        failed["error"]["status"],
        failed["error"]["title"],
    )
    assert leftover_objects(vnf)
    assert "instantiatedVnfInfo" not in v2.show(vnf)

    held_vnf.roll_back(v2, failed["id"])
    assert [] == leftover_objects(vnf)

    failed = v2.run(vnf, "instantiate", asked)
    v2.fail(failed["id"])
    elsewhere = v2.run(
        vnf, "instantiate", body(v2, vim, csar, "default", timeout=5)
    )
    assert 409 == elsewhere["error"]["status"]
    assert f"in namespace {namespace}" in elsewhere["error"]["detail"]
    v2.rollback(elsewhere["id"])
    assert leftover_objects(vnf)
    failed = v2.run(vnf, "instantiate", asked)
    assert "FAILED_TEMP" == failed["operationState"]
    held_vnf.release_config_map(kubectl, namespace)
    done = v2.retry(failed["id"])

    assert "COMPLETED" == done["operationState"], done.get("error")
    assert ["db"] == [vnfc["vduId"] for vnfc in v2.vnfcs(vnf)]
    assert ["ADDED"] == list(affected_vnfcs(done).values())
    v2.done(vnf, "terminate", rest_api.FORCEFUL)
    v2.delete(vnf)
    assert [] == leftover_objects(vnf)


@pytest.mark.requirement("D7")
def test_failed_scales_and_heals_are_repeated(
    v2, package, instance, namespace, kubectl, assert_no_leftovers
):
    """A scale out is rolled back to what Tacker still has.

    An operation without rollback reports that, and is finished by a retry.
    """
    vnf = instance(package())
    v2.done(vnf, "scale", rest_api.scaling("web", 1))
    before = vnfcs_by_vdu(v2.vnfcs(vnf))
    kubectl("create", "quota", "few", "--hard=pods=2", "-n", namespace)

    failed = v2.run(vnf, "scale", rest_api.scaling("web", 2))
    assert "FAILED_TEMP" == failed["operationState"]
    assert 422 == failed["error"]["status"]
    assert "web" in failed["error"]["detail"]
    held_vnf.roll_back(v2, failed["id"])
    assert before == vnfcs_by_vdu(v2.vnfcs(vnf))
    assert {"web": 1, "db": 0} == levels(v2, vnf)
    path = "-o=jsonpath={.spec.replicas}"
    assert "1" == kubectl("get", "deploy", "web", "-n", namespace, path)

    kubectl("delete", "quota", "few", "-n", namespace)
    kubectl("create", "quota", "none", "--hard=pods=0", "-n", namespace)
    asked = rest_api.healing(info_ids(v2, vnf, "web"), **short(5))
    failed = v2.run(vnf, "heal", asked)
    assert "FAILED_TEMP" == failed["operationState"]
    again = v2.rollback(failed["id"])
    assert "FAILED_TEMP" == again["operationState"]
    assert "not supported" in again["error"]["detail"]
    kubectl("delete", "quota", "none", "-n", namespace)
    # The Deployment reports it only when its controller tries once more.
    done = held_vnf.retry_until_success(v2.retry, failed["id"], "COMPLETED")
    after = vnfcs_by_vdu(v2.vnfcs(vnf))
    assert before["db"] == after["db"]
    assert not before["web"] & after["web"]
    assert {"REMOVED", "ADDED"} == set(affected_vnfcs(done).values())
    v2.done(vnf, "terminate", rest_api.FORCEFUL)
    v2.delete(vnf)


@pytest.mark.requirement("C6")
def test_a_failed_termination_is_retried(
    v2,
    package,
    instance,
    namespace,
    kubectl,
    assert_no_leftovers,
    leftover_objects,
):
    """A foreign finalizer holds an object; once removed, it is deleted."""
    vnf = instance(package(packages.config_map("held")))
    finalizers = '{"metadata": {"finalizers": %s}}'
    hold = finalizers % '["example.org/hold"]'
    patch = ("patch", "configmap", "held", "--type=merge", "-n", namespace)
    kubectl(*patch, "-p", hold)

    failed = v2.run(
        vnf, "terminate", {**rest_api.FORCEFUL, "additionalParams": short(5)}
    )
    assert "FAILED_TEMP" == failed["operationState"]
    assert "example.org/hold" in failed["error"]["detail"]
    assert "INSTANTIATED" == v2.show(vnf)["instantiationState"]

    kubectl(*patch, "-p", finalizers % "[]")
    done = v2.retry(failed["id"])

    assert "COMPLETED" == done["operationState"], done.get("error")
    assert "NOT_INSTANTIATED" == v2.show(vnf)["instantiationState"]
    v2.delete(vnf)
    assert [] == leftover_objects(vnf)


@pytest.mark.parametrize(
    ("ours", "status", "said"),
    [
        ({"time_out": 5}, 400, "time_out"),
        ({"webhook": {"api_check": "perhaps"}}, 400, "api_check"),
    ],
)
@pytest.mark.requirement("TK-18")
def test_a_request_that_cannot_be_changes_nothing(
    v2, vim, package, namespace, leftover_objects, ours, status, said
):
    """Its parameter is named, and it can be rolled back."""
    csar = package()
    vnf = v2.create(csar.vnfd)

    failed = v2.run(vnf, "instantiate", body(v2, vim, csar, namespace, **ours))

    assert (status, True) == (
        failed["error"]["status"],
        said in failed["error"]["detail"],
    )
    held_vnf.roll_back(v2, failed["id"])
    assert [] == leftover_objects(vnf)
    v2.delete(vnf)


@pytest.mark.requirement("T7")
def test_another_upgrade_type_is_refused(
    v2, package, instance, assert_no_leftovers
):
    """Tacker refuses it at its door, and the driver would, too."""
    vnf = instance(package())
    other = package()
    asked = rest_api.changing(
        other.vnfd, other.files, upgrade_type="BlueGreen"
    )

    with pytest.raises(RequestRefused) as refused:
        v2.start(vnf, "change_vnfpkg", asked)

    assert 400 == refused.value.status
    v2.done(vnf, "terminate", rest_api.FORCEFUL)


def test_foreign_objects_are_not_changed(
    v2, vim, package, namespace, kubectl, host
):
    """Neither by an instantiation nor by its rollback."""
    kubectl("create", "configmap", "theirs", "-n", namespace)
    csar = package(packages.config_map("theirs", of="ours"))
    vnf = v2.create(csar.vnfd)

    failed = v2.run(vnf, "instantiate", body(v2, vim, csar, namespace))
    since = host.logged()
    back = v2.rollback(failed["id"])

    assert 409 == failed["error"]["status"]
    assert f"ConfigMap/{namespace}/theirs" in failed["error"]["detail"]
    assert "ROLLED_BACK" == back["operationState"], back.get("error")
    assert "theirs" in names(kubectl, namespace, "configmaps")
    assert f"no record in the namespace {namespace}" in host.log(since=since)
    v2.delete(vnf)


class Subscriber:
    """Takes what Tacker notifies, and keeps the text of all of it."""

    def __init__(self):
        self.heard = []
        heard = self.heard

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self._answer()

            def do_POST(self):
                size = int(self.headers.get("Content-Length", 0))
                heard.append(self.rfile.read(size).decode())
                self._answer()

            def _answer(self):
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), Handler
        )

    @contextlib.contextmanager
    def listening(self, v2):
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{self.server.server_port}/"
        try:
            path = "/vnflcm/v2/subscriptions"
            asked = {"callbackUri": url, "verbosity": "FULL"}
            made = v2.request_expecting(201, "POST", path, asked).json()
            yield self
            v2.request_expecting(204, "DELETE", f"{path}/{made['id']}")
        finally:
            self.server.shutdown()
            thread.join()
            self.server.server_close()


@pytest.mark.requirement("P23")
def test_tacker_shows_no_secret(
    v2, vim, package, instance, namespace, host, kubectl, assert_no_leftovers
):
    """Not in the instance, its operations, notifications, tables or logs.

    Neither a value of a manifest nor the credential of the VIM, also where
    operations fail.
    """
    token = vim.credentials["bearer_token"]
    since = {name: host.logged(name) for name in SERVICES}
    with Subscriber().listening(v2) as subscriber:
        vnf = instance(package(secret()))
        other = package(secret(f"{PLANTED}-2"), held_vnf.held_config_map())
        failed = v2.run(
            vnf,
            "change_vnfpkg",
            rest_api.changing(other.vnfd, other.files, **short(4)),
        )
        shown = json.dumps([v2.show(vnf), failed])
        v2.rollback(failed["id"])
        path = f"/vnflcm/v2/vnf_lcm_op_occs?filter=(eq,vnfInstanceId,{vnf})"
        listed = v2.request_expecting(200, "GET", path).text
        v2.done(vnf, "terminate", rest_api.FORCEFUL)
    notifications = "".join(subscriber.heard)
    logs = "".join(host.log(name, start) for name, start in since.items())
    rows = [
        name
        for name, text in written_texts.files_with_secrets(
            host.folders.database
        )
        if PLANTED in text
    ]

    assert vnf in shown
    assert vnf in listed
    assert "FAILED_TEMP" in notifications
    assert vnf in logs
    for text in (shown, listed, notifications, logs):
        assert PLANTED not in text
        assert token not in text
    assert [] == rows
    v2.delete(vnf)


SERVICES = ("tacker-conductor", "tacker-server")


@pytest.fixture
def workload_cluster(tmp_path, v2):
    """Uploads the sample, without its management driver's hooks.

    They have tests of their own, with a receiver.
    """

    def build(replaced, *more):
        folder = tmp_path / f"quiet-{len(list(tmp_path.iterdir()))}"
        shutil.copytree(csars.SAMPLES / "capi_workload_cluster", folder)
        [path] = folder.glob("Definitions/*_df_*.yaml")
        flavour = yaml.safe_load(path.read_text())
        vnf = flavour["topology_template"]["node_templates"]["VNF"]
        del vnf["interfaces"]
        path.write_text(yaml.safe_dump(flavour))
        for manifest in more:
            name = f"{manifest['metadata']['name']}.yaml"
            file = folder / packages.MANIFESTS / name
            file.write_text(json.dumps(manifest))
        csar = packages.build_sample(str(folder), tmp_path, replaced)
        v2.upload(csar.path)
        return csar

    return build


@pytest.fixture
def second(namespace, kubectl):
    """Another namespace of the test's own."""
    name = f"{namespace}-2"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name)


KEEPER = "kubeadmcontrolplane/workload-control-plane"
SETTING = "initConfiguration:"
MORE = "preKubeadmCommands: [':']\n    "
"""Of a control plane: what stands in its file, and what is put before it."""
TEMPLATES = "devmachinetemplates"
SLOWER = {"startupDuration: 2s": "startupDuration: 3s"}
"""Another template of all machines, which cannot be changed in place."""


@pytest.mark.capi
@pytest.mark.requirement("TK-9", "TK-10", "TK-16", "TK-17")
def test_workload_clusters_live_through_v2(
    v2,
    vim,
    workload_cluster,
    assert_no_leftovers,
    namespace,
    second,
    kubectl,
    leftover_objects,
):
    """Workers are scaled and healed, the version is changed, all ends.

    VNFCs are Machines, with their Nodes. A change
    that stops half way is finished by a retry on one cluster. One of the
    control plane's settings, since no rollback lowers a version, is taken
    back on the other, which stays the same object. Their template is another
    one after the change, and the former one after the rollback.
    """
    older = workload_cluster({})
    newer = workload_cluster(
        {"v1.35.0": "v1.36.0", **SLOWER}, held_vnf.held_config_map()
    )
    other = workload_cluster(
        {SETTING: f"{MORE}{SETTING}", **SLOWER}, held_vnf.held_config_map()
    )
    spaces = (namespace, second)
    vnfs = [v2.create(older.vnfd) for _ in spaces]

    def both(action, *bodies):
        begun = [
            v2.start(vnf, action, one)
            for vnf, one in zip(vnfs, bodies, strict=True)
        ]
        return [v2.wait(occurrence, 300) for occurrence in begun]

    done = both("instantiate", *(body(v2, vim, older, s) for s in spaces))
    assert {"COMPLETED"} == {d["operationState"] for d in done}, done
    forth, back = vnfs
    first = v2.vnfcs(forth)
    assert {"control_plane", "workers"} == {v["vduId"] for v in first}
    assert {"Machine"} == {v["metadata"]["kind"] for v in first}
    assert all(vnfc["metadata"]["node"] for vnfc in first)
    path = "-o=jsonpath={.metadata.uid}"
    cluster = kubectl("get", "clusters", "workload", "-n", second, path)

    v2.done(forth, "scale", rest_api.scaling("workers", 1), 240)
    scaled = vnfcs_by_vdu(v2.vnfcs(forth))
    assert vnfcs_by_vdu(first)["control_plane"] == scaled["control_plane"]
    assert vnfcs_by_vdu(first)["workers"] < scaled["workers"]

    failed = both(
        "change_vnfpkg",
        *(
            rest_api.changing(package.vnfd, package.files, **short(10))
            for package in (newer, other)
        ),
    )
    assert {"FAILED_TEMP"} == {f["operationState"] for f in failed}
    assert 2 == len(names(kubectl, second, TEMPLATES))
    held_vnf.release_config_map(kubectl, namespace)
    changed = held_vnf.retry_until_success(
        v2.retry, failed[0]["id"], "COMPLETED"
    )
    held_vnf.retry_until_success(v2.rollback, failed[1]["id"], "ROLLED_BACK")

    now = vnfcs_by_vdu(v2.vnfcs(forth))
    assert {v: len(ids) for v, ids in scaled.items()} == {
        v: len(ids) for v, ids in now.items()
    }
    assert not set().union(*scaled.values()) & set().union(*now.values())
    assert {"REMOVED", "ADDED"} == set(affected_vnfcs(changed).values())
    assert newer.vnfd == v2.show(forth)["vnfdId"]
    (template,) = names(kubectl, namespace, TEMPLATES)
    assert template.startswith("workload-machine-")
    v2.done(
        forth, "heal", rest_api.healing(info_ids(v2, forth, "workers")), 240
    )
    healed = vnfcs_by_vdu(v2.vnfcs(forth))
    assert now["control_plane"] == healed["control_plane"]
    assert len(now["workers"]) == len(healed["workers"])
    assert not now["workers"] & healed["workers"]

    assert cluster == (
        kubectl("get", "clusters", "workload", "-n", second, path)
    )
    assert older.vnfd == v2.show(back)["vnfdId"]
    keeper = kubectl.json("get", KEEPER, "-n", second)
    assert "preKubeadmCommands" not in keeper["spec"]["kubeadmConfigSpec"]
    assert {"workload-machine"} == names(kubectl, second, TEMPLATES)
    machines = kubectl.json("get", "machines", "-n", second)["items"]
    assert {item["metadata"]["uid"] for item in machines} == {
        vnfc["id"] for vnfc in v2.vnfcs(back)
    }

    done = both("terminate", rest_api.FORCEFUL, rest_api.FORCEFUL)
    assert {"COMPLETED"} == {d["operationState"] for d in done}, done
    for vnf in vnfs:
        v2.delete(vnf)
        assert [] == leftover_objects(vnf)
