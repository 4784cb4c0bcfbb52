"""The v2 driver, called by Tacker's own code on a real API server.

What the conductor does around a driver is Tacker's: its requests, its grants,
the operation's process and its record of what was affected. Only its database
and its REST API are missing; the tests of the whole host have them.
"""

from __future__ import annotations

import importlib
import json
import pathlib
import re
import time
import types
import uuid
import warnings
import zipfile

import pytest

from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tests import small_packages
from tests import tacker_host
from tests.tracer import Tracer
from tools import csar

tacker_host.load_drivers()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    conductors = importlib.import_module(
        "tacker.sol_refactored.conductor.vnflcm_driver_v2"
    )

from tacker import context as contexts  # noqa: E402
from tacker.sol_refactored import objects  # noqa: E402
from tacker.sol_refactored.common import exceptions  # noqa: E402
from tacker.sol_refactored.common import lcm_op_occ_utils  # noqa: E402
from tacker.sol_refactored.common import vnf_instance_utils  # noqa: E402
from tacker.sol_refactored.common import vnfd_utils  # noqa: E402

from tacker_k8s_cr.driver.v2 import driver  # noqa: E402

pytestmark = pytest.mark.plane

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Tacker(conductors.VnfLcmDriverV2):
    """Tacker's own, without its database and the packages' scripts."""

    def __init__(self):
        self.endpoint = "http://tacker"
        self.failing = ""

    def _modify_inst_vnfd_id(self, context, inst, vnfd):
        """The new package's provider, product and versions."""

    def _exec_mgmt_driver_script(self, operation, *_, **__):
        """A package's scripts, which have tests of their own."""
        if operation == self.failing:
            raise exceptions.MgmtDriverExecutionFailed(sol_detail=operation)


class Failed(Exception):
    """An operation that is FAILED_TEMP, with what can be done about it."""

    def __init__(self, error, again, back, give_up):
        super().__init__(str(error))
        self.error = error
        self.again = again
        self.back = back
        self.give_up = give_up


class Conductor:
    """Carries out operations as Tacker's conductor does.

    An instance is stored only when an operation is completed.
    """

    def __init__(self, vim, folder, shows):
        self.vim = vim
        self.shows = shows
        self.folder = folder
        self.tacker = Tacker()
        self.vnfds = {}
        self.stored = {}

    def package(self, manifests, **options):
        path, vnfd = small_packages.build_csar(
            self.folder, manifests, **options
        )
        return self.unpack(path, vnfd)

    def unpack(self, path, vnfd):
        folder = self.folder / f"{vnfd}-unpacked"
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        self.vnfds[vnfd] = vnfd_utils.Vnfd(vnfd)
        self.vnfds[vnfd].init_from_csar_dir(str(folder))
        return vnfd

    def create(self, vnfd):
        inst = objects.VnfInstanceV2(
            id=str(uuid.uuid4()),
            vnfdId=vnfd,
            vnfProvider="p",
            vnfProductName="n",
            vnfSoftwareVersion="1",
            vnfdVersion="1",
            instantiationState="NOT_INSTANTIATED",
        )
        self.stored[inst.id] = inst.to_json()
        return inst.id

    def read(self, instance):
        return objects.VnfInstanceV2.from_json(self.stored[instance])

    def run(self, instance, operation, **body):
        """An operation to its end; raises Failed."""
        inst = self.read(instance)
        if operation == "INSTANTIATE":
            body["vimConnectionInfo"] = {"vim1": self.vim}
        occurrence = lcm_op_occ_utils.new_lcmocc(instance, operation, body)
        req = occurrence.operationParams
        vnfd = self.vnfds[body.get("vnfdId", inst.vnfdId)]
        grant_req = objects.GrantRequestV1(
            vnfInstanceId=instance,
            vnfLcmOpOccId=occurrence.id,
            vnfdId=inst.vnfdId,
            operation=operation,
            isAutomaticInvocation=False,
        )
        getattr(self.tacker, f"{operation.lower()}_grant")(
            grant_req, req, inst, vnfd
        )
        grant = objects.GrantV1(
            id=str(uuid.uuid4()),
            vnfInstanceId=instance,
            vnfLcmOpOccId=occurrence.id,
        )

        def call(method, which):
            inst = self.read(instance)
            self.tacker.post_grant(
                None, occurrence, inst, grant_req, grant, which
            )
            try:
                with self.shows.errors():
                    method(None, occurrence, inst, grant_req, grant, which, {})
            except Exception as error:
                raise Failed(error, again, back, give_up) from error
            return inst

        def again():
            inst = call(self.tacker.process, vnfd)
            self.stored[instance] = inst.to_json()
            return occurrence

        def back():
            inst = call(
                self.tacker.rollback,
                self.vnfds[self.read(instance).vnfdId],
            )
            if operation == "CHANGE_VNFPKG":
                self.stored[instance] = inst.to_json()

        def give_up():
            lcm_op_occ_utils.update_lcmocc_status(occurrence, "FAILED")
            occurrence.create(contexts.get_admin_context())

        return again()

    def synchronize(self, instance):
        inst = self.read(instance)
        vim_info = vnf_instance_utils.select_vim_info(inst.vimConnectionInfo)
        before = inst.to_dict()
        self.tacker.diff_check_inst(inst, vim_info)
        assert before == inst.to_dict()
        inst = self.read(instance)
        self.tacker.sync_db(None, inst, vim_info)
        self.stored[instance] = inst.to_json()

    def vnfcs(self, instance):
        """Of each VNFC: its VDU, by id."""
        listed = self.read(instance).instantiatedVnfInfo.vnfcResourceInfo
        return {vnfc.id: vnfc.vduId for vnfc in listed}

    def levels(self, instance):
        status = self.read(instance).instantiatedVnfInfo.scaleStatus
        return {item.aspectId: item.scaleLevel for item in status}


@pytest.fixture
def bind_driver(monkeypatch, tmp_path):
    """This driver instead of upstream's, as the hook sets it."""
    ours = types.SimpleNamespace(Kubernetes=driver.KubernetesCrV2)
    monkeypatch.setattr(conductors, "kubernetes", ours)
    keys = tmp_path / "vim_keys"
    keys.mkdir()
    with tacker_host.running_operation(keys):
        yield


@pytest.fixture
def vim(kubectl, kubeconfig, namespace):
    """A VIM as a request names it: endpoint, CA and token."""
    kubectl("create", "serviceaccount", "vim", "-n", namespace)
    kubectl(
        "create",
        "clusterrolebinding",
        namespace,
        "--clusterrole=cluster-admin",
        f"--serviceaccount={namespace}:vim",
    )
    token = kubectl("create", "token", "vim", "-n", namespace).strip()
    found = kubeconfigs.load(str(kubeconfig))
    yield {
        "vimId": "vim",
        "vimType": "ETSINFV.KUBERNETES.V_1",
        "interfaceInfo": {
            "endpoint": found.server,
            "ssl_ca_cert": found.ca,
        },
        "accessInfo": {"bearer_token": token},
    }
    kubectl("delete", "clusterrolebinding", namespace)


@pytest.fixture
def conductor(bind_driver, vim, tmp_path, secret_search):
    found = Conductor(vim, tmp_path, secret_search)
    yield found
    token = vim["accessInfo"]["bearer_token"]
    for text in found.stored.values():
        # Tacker stores the credential that a request names.
        secret_search.search("what Tacker stores", text.replace(token, ""))


def params(namespace, **ours):
    found = {
        "namespace": namespace,
        "lcm-kubernetes-def-files": [small_packages.ALL],
    }
    return {**found, "tacker_k8s_cr": ours} if ours else found


def upgrade(**ours):
    return {
        "upgrade_type": "RollingUpdate",
        "vdu_params": [],
        "lcm-kubernetes-def-files": [small_packages.ALL],
        "tacker_k8s_cr": ours,
    }


def affected(occurrence):
    """For each VNFC that an operation reports as affected: how, by id."""
    changes = occurrence.resourceChanges
    if not changes.obj_attr_is_set("affectedVnfcs"):
        return {}
    return {vnfc.id: vnfc.changeType for vnfc in changes.affectedVnfcs}


@pytest.fixture
def instantiated(conductor, namespace):
    """An instance of a package, and what the operation reports about it."""

    def make(manifests=small_packages.FIRST, level="one", **options):
        vnf = conductor.create(conductor.package(manifests, **options))
        done = conductor.run(
            vnf,
            "INSTANTIATE",
            flavourId="simple",
            instantiationLevelId=level,
            additionalParams=params(namespace),
        )
        return vnf, done

    return make


@pytest.fixture
def names(kubectl, namespace):
    """Names of the objects of a kind."""

    def found(kind):
        listed = kubectl("get", kind, "-n", namespace, "-o", "name")
        return {line.partition("/")[2] for line in listed.split()}

    return found


@pytest.mark.requirement("TK-5", "XO-1")
def test_an_instance_lives_through_tacker(
    conductor, instantiated, namespace, names, leftover_objects
):
    """From instantiate to terminate, with what each operation affected.

    Numbers are those of the instantiation level; scaling goes down to zero
    and up from it; VNFCs that stay keep their ids.
    """
    vnf, done = instantiated(level="two")

    first = conductor.vnfcs(vnf)
    assert ["db", "web", "web"] == sorted(first.values())
    assert dict.fromkeys(first, "ADDED") == affected(done)
    assert {"webs": 2} == conductor.levels(vnf)

    done = conductor.run(
        vnf, "SCALE", type="SCALE_IN", aspectId="webs", numberOfSteps=2
    )
    assert ["db"] == list(conductor.vnfcs(vnf).values())
    gone = {id_ for id_, vdu in first.items() if vdu == "web"}
    assert dict.fromkeys(gone, "REMOVED") == affected(done)
    assert {"webs": 0} == conductor.levels(vnf)

    done = conductor.run(
        vnf, "SCALE", type="SCALE_OUT", aspectId="webs", numberOfSteps=3
    )
    now = conductor.vnfcs(vnf)
    added = now.keys() - first.keys()
    assert 3 == len(added)
    assert dict.fromkeys(added, "ADDED") == affected(done)
    assert {"webs": 3} == conductor.levels(vnf)

    done = conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")
    assert dict.fromkeys(now, "REMOVED") == affected(done)
    assert [] == leftover_objects(vnf, namespace)
    assert set() == names("deployments")


@pytest.fixture
def records(kubectl, unique_name):
    """A namespace for records; removed afterwards."""
    name = f"{unique_name}-records"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


def test_a_record_may_lie_in_another_namespace(
    conductor,
    instantiated,
    namespace,
    records,
    names,
    leftover_objects,
    kubectl,
):
    """Later operations find it, whatever the configuration is by then."""
    with tacker_host.override_configuration(record_namespace=records):
        vnf, _ = instantiated(
            (*small_packages.FIRST, small_packages.config_map("less"))
        )
    info = conductor.read(vnf).instantiatedVnfInfo
    assert f"{records}/{vnf}" == info.metadata["tacker_k8s_cr"]["record"]
    assert namespace == info.metadata["namespace"]
    assert f"tacker-k8s-cr.{vnf}" not in names("secrets")

    conductor.run(
        vnf, "SCALE", type="SCALE_OUT", aspectId="webs", numberOfSteps=1
    )
    conductor.run(vnf, "HEAL")
    other = conductor.package(SECOND)
    with pytest.raises(Failed, match=f"the instance is in {namespace}"):
        conductor.run(
            vnf,
            "CHANGE_VNFPKG",
            vnfdId=other,
            additionalParams={**upgrade(), "namespace": records},
        )
    conductor.run(
        vnf,
        "CHANGE_VNFPKG",
        vnfdId=other,
        additionalParams={**upgrade(), "namespace": namespace},
    )
    assert "more" in names("configmaps")
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")

    assert [] == leftover_objects(vnf, namespace)
    assert "" == kubectl("get", "lease", "-n", records, "-o", "name")


def test_a_record_is_found_by_a_rollback(
    conductor, namespace, records, names, leftover_objects, kubectl
):
    """Tacker has noted nothing, and the configuration is another by then."""
    vnf = conductor.create(
        conductor.package(
            (*small_packages.FIRST, small_packages.never_ready())
        )
    )
    with (
        tacker_host.override_configuration(record_namespace=records),
        pytest.raises(Failed) as failed,
    ):
        conductor.run(
            vnf,
            "INSTANTIATE",
            flavourId="simple",
            # The rollback has that time, too.
            additionalParams=params(namespace, timeout=15),
        )
    assert f"tacker-k8s-cr.{vnf}" not in names("secrets")

    failed.value.back()

    assert [] == leftover_objects(vnf, namespace)
    assert "" == kubectl("get", "lease", "-n", records, "-o", "name")


def within(namespace, manifests):
    """Manifests that name the namespace of their objects."""
    return [
        {**m, "metadata": {**m["metadata"], "namespace": namespace}}
        for m in manifests
    ]


def test_the_manifests_name_the_namespace(
    conductor, namespace, names, leftover_objects, kubectl
):
    """The request names none: the record is where the objects are."""
    given = within(
        namespace, (*small_packages.FIRST, small_packages.never_ready())
    )
    vnf = conductor.create(conductor.package(given))
    said = params("", timeout=6)
    with pytest.raises(Failed) as failed:
        conductor.run(
            vnf, "INSTANTIATE", flavourId="simple", additionalParams=said
        )
    assert f"tacker-k8s-cr.{vnf}" in names("secrets")

    failed.value.back()

    assert [] == leftover_objects(vnf, namespace)
    vnf = conductor.create(
        conductor.package(within(namespace, small_packages.FIRST))
    )
    conductor.run(
        vnf, "INSTANTIATE", flavourId="simple", additionalParams=params("")
    )
    metadata = conductor.read(vnf).instantiatedVnfInfo.metadata
    assert (namespace, namespace) == (
        metadata["namespace"],
        metadata["tenant"],
    )
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")
    assert [] == leftover_objects(vnf, namespace)


def test_an_instance_may_begin_with_nothing(conductor, instantiated):
    """A VDU without any VNFC is not an error, and can be scaled."""
    vnf, _ = instantiated(
        (small_packages.web(), small_packages.db()), level="none"
    )
    assert ["db"] == list(conductor.vnfcs(vnf).values())

    conductor.run(
        vnf, "SCALE", type="SCALE_OUT", aspectId="webs", numberOfSteps=1
    )

    assert ["db", "web"] == sorted(conductor.vnfcs(vnf).values())
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")


def test_what_tacker_stores_holds_no_secret(conductor, instantiated):
    """Neither the instance nor the operation has a value of a manifest."""
    vnf, done = instantiated()

    kept = conductor.stored[vnf] + done.to_json()

    assert small_packages.PLANTED not in kept
    assert {
        "tacker_k8s_cr",
        "namespace",
        "tenant",
        "lcm-kubernetes-def-files",
        "vdu_reses",
    } == conductor.read(vnf).instantiatedVnfInfo.metadata.keys()
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")


def test_a_heal_replaces_what_is_named(conductor, instantiated):
    """A Pod of a StatefulSet keeps its name and is another VNFC.

    The others stay. Without names, all are replaced.
    """
    vnf, _ = instantiated()
    first = conductor.vnfcs(vnf)
    [(old, vdu)] = [item for item in first.items() if item[1] == "db"]

    done = conductor.run(vnf, "HEAL", vnfcInstanceId=[f"{vdu}-{old}"])

    second = conductor.vnfcs(vnf)
    [new] = second.keys() - first.keys()
    assert {old: "REMOVED", new: "ADDED"} == affected(done)
    assert sorted(first.values()) == sorted(second.values())

    conductor.run(vnf, "HEAL", additionalParams={"all": True})
    third = conductor.vnfcs(vnf)
    assert not second.keys() & third.keys()
    assert sorted(first.values()) == sorted(third.values())
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")


def test_a_heal_of_deleted_members_succeeds(
    conductor, instantiated, kubectl, namespace
):
    """Its controller was quicker than Tacker's list."""
    vnf, _ = instantiated()
    [old] = [id_ for id_, vdu in conductor.vnfcs(vnf).items() if vdu == "db"]
    kubectl("delete", "pod", "db-0", "-n", namespace)

    done = conductor.run(vnf, "HEAL", vnfcInstanceId=[f"db-{old}"])

    assert {"REMOVED", "ADDED"} == set(affected(done).values())
    assert "REMOVED" == affected(done)[old]
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")


SECOND = (
    small_packages.web("registry.k8s.io/pause:3.10"),
    small_packages.db(),
    small_packages.config_map("settings", of="second"),
    small_packages.config_map("more"),
)


@pytest.mark.requirement("TK-6", "T6", "E2")
def test_a_change_brings_drops_and_keeps(
    conductor, instantiated, names, leftover_objects, namespace, kubectl
):
    """The whole new package counts, without any VDU named.

    What the former package made goes at terminate, too.
    """
    vnf, _ = instantiated(
        (*small_packages.FIRST, small_packages.config_map("less"))
    )
    first = conductor.vnfcs(vnf)
    other = conductor.package(SECOND)

    done = conductor.run(
        vnf, "CHANGE_VNFPKG", vnfdId=other, additionalParams=upgrade()
    )

    assert {"settings", "more"} <= names("configmaps")
    assert "less" not in names("configmaps")
    assert "password" not in names("secrets")
    said = kubectl(
        "get", "configmap", "settings", "-n", namespace, "-o", "json"
    )
    assert {"of": "second"} == json.loads(said)["data"]
    second = conductor.vnfcs(vnf)
    assert other == conductor.read(vnf).vnfdId
    assert sorted(first.values()) == sorted(second.values())
    webs = {id_ for id_, vdu in first.items() if vdu == "web"}
    changed = affected(done)
    assert webs == {id_ for id_ in changed if changed[id_] == "REMOVED"}
    assert not webs & second.keys()

    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")
    assert [] == leftover_objects(vnf, namespace)


WEB = "Files/kubernetes/web.yaml"
REST = "Files/kubernetes/rest.yaml"
BROKEN = "Files/kubernetes/broken.yaml"


def test_a_change_keeps_what_its_request_does_not_select(
    conductor, names, leftover_objects, namespace
):
    """The new package has it: requests of Tacker's name what changes.

    It is deleted when the package no longer has it, or with the instance.
    """

    def versions(image, *rest):
        return {
            WEB: [small_packages.web(image)],
            REST: [
                small_packages.db(),
                small_packages.config_map("settings"),
                *rest,
            ],
            BROKEN: [{"kind": "ConfigMap"}],
        }

    def selecting(*files):
        return {**upgrade(), "lcm-kubernetes-def-files": list(files)}

    first = versions(
        "registry.k8s.io/pause:3.9", small_packages.config_map("less")
    )
    vnf = conductor.create(conductor.package(first))
    conductor.run(
        vnf,
        "INSTANTIATE",
        flavourId="simple",
        additionalParams={
            "namespace": namespace,
            "lcm-kubernetes-def-files": [WEB, REST],
        },
    )
    second = conductor.package(versions("registry.k8s.io/pause:3.10"))

    conductor.run(
        vnf,
        "CHANGE_VNFPKG",
        vnfdId=second,
        additionalParams=selecting(WEB),
    )

    assert "settings" in names("configmaps")
    assert "less" not in names("configmaps")
    assert {"db"} == names("statefulsets")
    # Of a VDU that is not selected there are no VNFCs; so it is in Tacker.
    assert ["web"] == list(conductor.vnfcs(vnf).values())

    third = conductor.package(
        {WEB: [small_packages.web()], REST: [small_packages.db()]}
    )
    conductor.run(
        vnf,
        "CHANGE_VNFPKG",
        vnfdId=third,
        additionalParams=selecting(WEB),
    )

    assert "settings" not in names("configmaps")
    assert {"db"} == names("statefulsets")
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")
    assert [] == leftover_objects(vnf, namespace)
    assert set() == names("statefulsets")


def test_a_change_that_fails_is_rolled_back(
    conductor, instantiated, names, leftover_objects, namespace
):
    """What it made goes, what it dropped is back, in Tacker too."""
    vnf, _ = instantiated(
        (*small_packages.FIRST, small_packages.config_map("less"))
    )
    before = conductor.read(vnf)
    other = conductor.package((*SECOND, small_packages.never_ready()))

    with pytest.raises(Failed) as failed:
        conductor.run(
            vnf,
            "CHANGE_VNFPKG",
            vnfdId=other,
            additionalParams=upgrade(timeout=8),
        )
    assert 504 == failed.value.error.status
    assert "Pod/" in failed.value.error.detail
    assert "more" in names("configmaps")

    failed.value.back()

    assert {"settings", "less"} <= names("configmaps")
    assert not {"more"} & names("configmaps")
    assert not {"never"} & names("pods")
    assert "password" in names("secrets")
    after = conductor.read(vnf)
    assert before.vnfdId == after.vnfdId
    assert before.instantiatedVnfInfo.metadata == (
        after.instantiatedVnfInfo.metadata
    )
    there = names("pods")
    listed = after.instantiatedVnfInfo.vnfcResourceInfo
    assert there == {v.computeResource.resourceId for v in listed}
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")
    assert [] == leftover_objects(vnf, namespace)


def test_a_change_is_rolled_back_when_a_script_fails_after_it(
    conductor, instantiated, names
):
    """All of it was done; Tacker does not know, and takes all of it back."""
    vnf, _ = instantiated(
        (*small_packages.FIRST, small_packages.config_map("less"))
    )
    other = conductor.package(SECOND)
    conductor.tacker.failing = "change_current_package_end"

    with pytest.raises(Failed, match="change_current_package_end") as failed:
        conductor.run(
            vnf, "CHANGE_VNFPKG", vnfdId=other, additionalParams=upgrade()
        )
    assert "more" in names("configmaps")
    failed.value.back()
    failed.value.back()

    assert "less" in names("configmaps")
    assert "more" not in names("configmaps")
    assert "password" in names("secrets")
    there = names("pods")
    listed = conductor.read(vnf).instantiatedVnfInfo.vnfcResourceInfo
    assert there == {v.computeResource.resourceId for v in listed}

    # Tried again, it is as if it had never been done.
    conductor.tacker.failing = ""
    failed.value.again()
    assert "more" in names("configmaps")
    assert other == conductor.read(vnf).vnfdId
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")


def test_a_change_that_was_refused_takes_nothing_back(
    conductor, instantiated, names
):
    """The change before it, which succeeded, stays."""
    vnf, _ = instantiated()
    second = conductor.package(SECOND)
    conductor.run(
        vnf, "CHANGE_VNFPKG", vnfdId=second, additionalParams=upgrade()
    )
    unknown = {
        "apiVersion": "example.org/v1",
        "kind": "NoSuchKind",
        "metadata": {"name": "n"},
    }
    third = conductor.package((*SECOND, unknown))

    with pytest.raises(Failed, match="NoSuchKind") as failed:
        conductor.run(
            vnf, "CHANGE_VNFPKG", vnfdId=third, additionalParams=upgrade()
        )
    failed.value.back()

    assert "more" in names("configmaps")
    assert second == conductor.read(vnf).vnfdId
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")


@pytest.mark.requirement("T7")
def test_another_upgrade_type_is_refused(conductor, instantiated):
    """Blue-green is named in Tacker's documentation only."""
    vnf, _ = instantiated((small_packages.web(), small_packages.db()))
    other = conductor.package(SECOND)
    asked = {**upgrade(), "upgrade_type": "BlueGreen"}

    with pytest.raises(Failed, match="RollingUpdate") as failed:
        conductor.run(
            vnf, "CHANGE_VNFPKG", vnfdId=other, additionalParams=asked
        )

    assert 400 == failed.value.error.status
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")


def failing(conductor, namespace):
    """An instantiation that ends early; Failed has the rest."""
    vnf = conductor.create(
        conductor.package(
            (*small_packages.FIRST[:2], small_packages.never_ready())
        )
    )
    with pytest.raises(Failed) as failed:
        conductor.run(
            vnf,
            "INSTANTIATE",
            flavourId="simple",
            additionalParams=params(namespace, timeout=6),
        )
    return vnf, failed.value


def test_an_instantiation_that_fails_is_rolled_back(
    conductor, namespace, names, leftover_objects
):
    """Tacker has no data about what was created; the record does."""
    vnf, failed = failing(conductor, namespace)
    assert 504 == failed.error.status
    assert {"web"} == names("deployments")
    assert not conductor.read(vnf).obj_attr_is_set("instantiatedVnfInfo")

    failed.back()

    assert [] == leftover_objects(vnf, namespace)
    assert set() == names("deployments")


def test_an_instantiation_that_fails_is_finished_by_a_retry(
    conductor, namespace, kubectl, leftover_objects
):
    """It continues with what exists; the obstacle was removed meanwhile."""
    vnf, failed = failing(conductor, namespace)
    kubectl("label", "node", "--all", "example.org/no=node")
    try:
        failed.again()
    finally:
        kubectl("label", "node", "--all", "example.org/no-")

    assert ["db", "web"] == sorted(conductor.vnfcs(vnf).values())
    # All was there when it was tried once more: nothing is made twice.
    failed.again()
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")
    assert [] == leftover_objects(vnf, namespace)


def test_a_rollback_without_a_record_removes_nothing(
    conductor, namespace, kubectl, names, caplog
):
    """Objects of the same names are foreign."""
    kubectl("create", "configmap", "settings", "-n", namespace)
    vnf = conductor.create(conductor.package(small_packages.FIRST))

    with pytest.raises(Failed, match="settings") as failed:
        conductor.run(
            vnf,
            "INSTANTIATE",
            flavourId="simple",
            additionalParams=params(namespace),
        )
    failed.value.back()

    assert 409 == failed.value.error.status
    assert "settings" in names("configmaps")
    assert f"no record in the namespace {namespace}" in caplog.text


def test_a_request_that_was_refused_can_be_rolled_back(conductor, namespace):
    """There is nothing to remove, and no reason to refuse again."""
    vnf = conductor.create(conductor.package(small_packages.FIRST))

    with pytest.raises(Failed, match="time_out") as failed:
        conductor.run(
            vnf,
            "INSTANTIATE",
            flavourId="simple",
            additionalParams=params(namespace, time_out=1),
        )

    assert 400 == failed.value.error.status
    failed.value.back()


def instantiate(conductor, vnf, namespace, level=None, **ours):
    """Once more, as after an instantiation that was given up."""
    said = {"instantiationLevelId": level} if level else {}
    return conductor.run(
        vnf,
        "INSTANTIATE",
        flavourId="simple",
        additionalParams=params(namespace, **ours),
        **said,
    )


def elsewhere(vim, vim_id, endpoint):
    return {
        **vim,
        "vimId": vim_id,
        "interfaceInfo": {**vim["interfaceInfo"], "endpoint": endpoint},
    }


AWAY = "https://127.0.0.1:9"
"""No server listens there."""


def test_an_instantiation_after_one_that_was_done_has_its_own_level(
    conductor, namespace, leftover_objects
):
    """The first was given up when a script failed after it."""
    vnf = conductor.create(
        conductor.package((small_packages.web(), small_packages.db()))
    )
    conductor.tacker.failing = "instantiate_end"
    with pytest.raises(Failed, match="instantiate_end") as failed:
        instantiate(conductor, vnf, namespace, "one")
    failed.value.give_up()
    conductor.tacker.failing = ""

    instantiate(conductor, vnf, namespace, "two")

    assert ["db", "web", "web"] == sorted(conductor.vnfcs(vnf).values())
    assert {"webs": 2} == conductor.levels(vnf)
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")
    assert [] == leftover_objects(vnf, namespace)


def test_what_was_left_on_another_vim_is_not_forgotten(
    conductor, vim, namespace, leftover_objects
):
    """The next VIM is refused until the first one is cleaned up.

    A new credential for the same VIM changes nothing.
    """
    vnf, failed = failing(conductor, namespace)
    failed.give_up()
    conductor.vim = elsewhere(vim, "other", AWAY)

    with pytest.raises(Failed, match="requested: namespace") as other:
        instantiate(conductor, vnf, namespace, timeout=5)

    assert 409 == other.value.error.status
    assert f"in namespace {namespace} of VIM vim" in other.value.error.detail
    failed.back()
    assert [] == leftover_objects(vnf, namespace)
    with pytest.raises(Failed) as other:
        instantiate(conductor, vnf, namespace, timeout=5)
    assert 503 == other.value.error.status


def test_a_vim_that_cannot_be_asked_is_refused_too(
    conductor, vim, namespace, names
):
    """The state is unknown; another VNF instance is the way out."""
    conductor.vim = elsewhere(vim, "other", AWAY)
    vnf = conductor.create(conductor.package(small_packages.FIRST))
    with pytest.raises(Failed) as failed:
        instantiate(conductor, vnf, namespace, timeout=2)
    assert 503 == failed.value.error.status
    failed.value.give_up()
    conductor.vim = vim

    with pytest.raises(Failed, match="another VNF instance") as failed:
        instantiate(conductor, vnf, namespace)

    assert 409 == failed.value.error.status
    assert f"namespace {namespace} of VIM other" in failed.value.error.detail
    assert set() == names("deployments")


def test_a_user_that_may_not_read_records_has_left_nothing(
    conductor, namespace, kubectl, caplog, leftover_objects
):
    """A namespace that the VIM's user may not use does not block.

    Neither its rollback, nor the next try in the right one.
    """
    kubectl("delete", "clusterrolebinding", namespace)
    kubectl(
        "create",
        "rolebinding",
        "vim",
        "-n",
        namespace,
        "--clusterrole=admin",
        f"--serviceaccount={namespace}:vim",
    )
    kubectl(
        "create",
        "role",
        "leases",
        "-n",
        namespace,
        "--verb=*",
        "--resource=leases.coordination.k8s.io,events",
    )
    kubectl(
        "create",
        "rolebinding",
        "leases",
        "-n",
        namespace,
        "--role=leases",
        f"--serviceaccount={namespace}:vim",
    )
    vnf = conductor.create(
        conductor.package((small_packages.web(), small_packages.db()))
    )
    try:
        with pytest.raises(Failed) as failed:
            instantiate(conductor, vnf, "kube-system")
        assert 403 == failed.value.error.status
        failed.value.back()
        assert "nothing is removed" in caplog.text
        failed.value.give_up()

        instantiate(conductor, vnf, namespace)

        assert "since its record would have been read" in caplog.text
        conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")
        assert [] == leftover_objects(vnf, namespace)
    finally:
        kubectl(
            "create",
            "clusterrolebinding",
            namespace,
            "--clusterrole=cluster-admin",
            f"--serviceaccount={namespace}:vim",
        )


def test_a_heal_that_was_done_is_not_done_again_by_a_retry(
    conductor, instantiated
):
    """A script failed after it. Another heal replaces all once more."""
    vnf, _ = instantiated((small_packages.web(), small_packages.db()))
    first = conductor.vnfcs(vnf)
    conductor.tacker.failing = "heal_end"
    with pytest.raises(Failed, match="heal_end") as failed:
        conductor.run(vnf, "HEAL")
    conductor.synchronize(vnf)
    second = conductor.vnfcs(vnf)
    assert not first.keys() & second.keys()
    conductor.tacker.failing = ""

    failed.value.again()
    assert second == conductor.vnfcs(vnf)

    conductor.run(vnf, "HEAL")
    assert not second.keys() & conductor.vnfcs(vnf).keys()
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")


@pytest.mark.requirement("D7")
def test_a_scale_that_fails_is_rolled_back(
    conductor, instantiated, names, namespace, kubectl
):
    """To the level that Tacker still has; the record follows.

    Only Machines can be selected for deletion; others are refused beforehand.
    """
    vnf, _ = instantiated((small_packages.web(), small_packages.db()))
    first = conductor.vnfcs(vnf)
    kubectl("create", "quota", "full", "--hard=pods=2", "-n", namespace)

    with pytest.raises(Failed) as failed:
        conductor.run(
            vnf,
            "SCALE",
            type="SCALE_OUT",
            aspectId="webs",
            numberOfSteps=2,
            additionalParams={"tacker_k8s_cr": {"timeout": 6}},
        )
    assert failed.value.error.status in (422, 504)
    assert {"webs": 1} == conductor.levels(vnf)

    failed.value.back()

    assert first == conductor.vnfcs(vnf)
    kubectl("delete", "quota", "full", "-n", namespace)
    conductor.run(
        vnf, "SCALE", type="SCALE_OUT", aspectId="webs", numberOfSteps=1
    )
    assert 3 == len(conductor.vnfcs(vnf))
    with pytest.raises(Failed) as refused:
        conductor.run(
            vnf,
            "SCALE",
            type="SCALE_IN",
            aspectId="webs",
            numberOfSteps=1,
            additionalParams={
                "tacker_k8s_cr": {"machines_to_delete": ["web-1"]}
            },
        )
    assert "web-1: not Machines of it" in refused.value.error.detail
    assert {"webs": 2} == conductor.levels(vnf)
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")


def test_the_database_follows_the_cluster(
    conductor, instantiated, kubectl, namespace
):
    """After a foreign replacement and scale, VNFCs and levels are updated.

    As long as nothing differs, nothing is written.
    """
    vnf, _ = instantiated()
    with pytest.raises(exceptions.DbSyncNoDiff):
        conductor.synchronize(vnf)
    first = conductor.vnfcs(vnf)
    kubectl("scale", "deployment", "web", "--replicas=3", "-n", namespace)
    kubectl("rollout", "status", "deployment", "web", "-n", namespace)

    conductor.synchronize(vnf)

    second = conductor.vnfcs(vnf)
    assert first.items() <= second.items()
    assert 2 == len(second) - len(first)
    assert {"webs": 3} == conductor.levels(vnf)
    with pytest.raises(exceptions.DbSyncNoDiff):
        conductor.synchronize(vnf)
    conductor.run(
        vnf, "SCALE", type="SCALE_IN", aspectId="webs", numberOfSteps=2
    )
    assert 2 == len(conductor.vnfcs(vnf))
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")


def test_a_synchronization_reports_a_lost_record(
    conductor, instantiated, kubectl, namespace
):
    """Tacker logs it, and its own record stays as it is."""
    vnf, _ = instantiated((small_packages.web(), small_packages.db()))
    before = conductor.stored[vnf]
    kubectl("delete", "secrets", "--all", "-n", namespace)

    with pytest.raises(exceptions.DbSyncFailed, match="no record"):
        conductor.synchronize(vnf)

    assert before == conductor.stored[vnf]
    kubectl("delete", "deployments,statefulsets", "--all", "-n", namespace)


def test_an_unreachable_vim_does_not_delay_a_synchronization(
    conductor, instantiated, vim
):
    """Its instances are skipped at once, after the first of them.

    The next round asks it again.
    """
    vnf, _ = instantiated((small_packages.web(), small_packages.db()))
    there = conductor.stored[vnf]
    away = there.replace(vim["interfaceInfo"]["endpoint"], AWAY)
    conductor.stored[vnf] = away
    conductor.stored["other"] = away.replace(vnf, str(uuid.uuid4()))

    begun = time.monotonic()
    with pytest.raises(exceptions.DbSyncFailed, match="cannot be reached"):
        conductor.synchronize(vnf)
    asked = time.monotonic()
    with pytest.raises(exceptions.DbSyncFailed, match="cannot be reached"):
        conductor.synchronize("other")
    told = time.monotonic()

    assert 20 > asked - begun
    assert 1 > told - asked
    conductor.stored[vnf] = there
    with pytest.raises(exceptions.DbSyncNoDiff):
        conductor.synchronize(vnf)
    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")


@pytest.mark.capi
@pytest.mark.requirement("TK-9", "TK-10", "TK-16", "TK-17")
def test_a_workload_cluster_lives_through_tacker(
    conductor, vim, namespace, tmp_path, leftover_objects
):
    """Machines are VNFCs, with their Nodes; the version changes."""
    sample = csar.SAMPLES / "capi_workload_cluster"
    ids = {}
    for variant in ("", "v1_36"):
        path = csar.build(
            sample, tmp_path / f"c{variant}.zip", variant=variant
        )
        with zipfile.ZipFile(path) as archive:
            [top] = [n for n in archive.namelist() if "top.vnfd" in n]
            text = archive.read(top).decode()
        [id_] = {
            line.split()[-1]
            for line in text.splitlines()
            if "descriptor_id:" in line and "{" not in line
        }
        ids[variant] = conductor.unpack(path, id_)
    files = [
        f"Files/kubernetes/{name}.yaml"
        for name in ("machines", "control_plane", "workers", "cluster")
    ]
    vnf = conductor.create(ids[""])
    done = conductor.run(
        vnf,
        "INSTANTIATE",
        flavourId="simple",
        additionalParams={
            "namespace": namespace,
            "lcm-kubernetes-def-files": files,
        },
    )
    first = conductor.vnfcs(vnf)
    assert {"control_plane", "workers"} == set(first.values())
    assert dict.fromkeys(first, "ADDED") == affected(done)
    listed = conductor.read(vnf).instantiatedVnfInfo.vnfcResourceInfo
    assert all(vnfc.metadata["node"] for vnfc in listed)
    assert {"Machine"} == {vnfc.metadata["kind"] for vnfc in listed}

    conductor.run(
        vnf, "SCALE", type="SCALE_OUT", aspectId="workers", numberOfSteps=1
    )
    second = conductor.vnfcs(vnf)
    assert first.items() <= second.items()
    assert len(first) + 1 == len(second)

    asked = {**upgrade(), "lcm-kubernetes-def-files": files}
    done = conductor.run(
        vnf, "CHANGE_VNFPKG", vnfdId=ids["v1_36"], additionalParams=asked
    )
    third = conductor.vnfcs(vnf)
    assert not second.keys() & third.keys()
    assert sorted(second.values()) == sorted(third.values())

    conductor.run(vnf, "TERMINATE", terminationType="FORCEFUL")
    assert [] == leftover_objects(vnf, namespace)


def test_one_request_passes_the_files_that_its_page_names(
    conductor, instantiated
):
    """Those of the page exist, and an instantiation executes each of them."""
    page = ROOT / "doc" / "source" / "contributor" / "request.rst"
    named = re.findall(r"^   \* - ``(\S+\.py)``$", page.read_text(), re.M)

    with Tracer() as tracer:
        instantiated()

    assert named
    assert [] == [name for name in named if name not in tracer.executed]
