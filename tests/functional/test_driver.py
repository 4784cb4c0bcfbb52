"""Both drivers, loaded and called as Tacker does, on a real API server.

The order of the calls and their arguments are those of Tacker 16.0.0:
``vnflcm/vnflcm_driver.py`` and ``conductor/conductor_server.py``.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import json
import pathlib
import shutil
import uuid
import zipfile

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kinds import autoscaling as scaling
from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tests import small_packages
from tests import tacker_host
from tools import csar
from tools.receiver import Answer
from tools.receiver import Receiver

tacker_host.load_drivers()

from tacker import objects  # noqa: E402
from tacker.common import driver_manager  # noqa: E402
from tacker.common import exceptions  # noqa: E402
from tacker.extensions import vnfm  # noqa: E402
from tacker.objects.fields import ErrorPoint  # noqa: E402

from tacker_k8s_cr.driver.instances import InstanceTarget  # noqa: E402
from tacker_k8s_cr.driver.v1 import mapping  # noqa: E402
from tacker_k8s_cr.model.objects import ObjectRef  # noqa: E402

pytestmark = pytest.mark.plane

KEY = (
    "whsec_" + base64.b64encode(b"planted-key-of-the-tests, 32 bytes").decode()
)


class Conductor:
    """Calls the drivers in the order in which Tacker's conductor does."""

    def __init__(self, context, vim, package, shows):
        self.context = context
        self.shows = shows
        self.vim = vim
        self.package = package
        self.infra = driver_manager.DriverManager(
            "tacker.tacker.vnfm.drivers", ["noop", "kubernetes_cr"]
        )
        self.mgmt = driver_manager.DriverManager(
            "tacker.tacker.mgmt.drivers", ["kubeconfig-webhook"]
        )
        self.vnf_dict = {}

    def call(self, method, **arguments):
        with self.shows.errors():
            return self.infra.invoke(
                "kubernetes", method, context=self.context, **arguments
            )

    def hook(self, method, vnf_instance, request, **others):
        with self.shows.errors():
            self.mgmt.invoke(
                "kubeconfig-webhook",
                method,
                context=self.context,
                vnf_instance=vnf_instance,
                instantiate_vnf_request=request,
                grant=None,
                grant_request=None,
                **others,
            )

    def instantiate(
        self, vnf_instance, request, before=ErrorPoint.INITIAL, **known
    ):
        described = k8s_cr.load(self.package).vnfd
        if vnf_instance.vnfd_id != described.id:
            vnf_instance.vnfd_id = described.id
            vnf_instance.save()
        self.vnf_dict = {
            **known,
            "before_error_point": before,
            "current_error_point": ErrorPoint.PRE_VIM_CONTROL,
            "attributes": {},
        }
        prepared = self.call(
            "pre_instantiation_vnf",
            vnf_instance=vnf_instance,
            vim_connection_info=self.vim,
            vnf_software_images={},
            instantiate_vnf_req=request,
            vnf_package_path=self.package,
        )
        for rows in prepared.values():
            for row in rows:
                row.create()
        found = self.call(
            "instantiate_vnf",
            plugin=None,
            vnf_instance=vnf_instance,
            vnfd_dict=self.vnf_dict,
            grant_response=prepared,
            vim_connection_info=self.vim,
            vnf_package_path=self.package,
            instantiate_vnf_req=request,
        )
        info = vnf_instance.instantiated_vnf_info
        info.instance_id = found
        info.scale_status = self.vnf_dict["scale_status"]
        self.call(
            "create_wait",
            plugin=None,
            vnf_dict=self.vnf_dict,
            vnf_id=self.vnf_dict["instance_id"],
            auth_attr=self.vim.access_info,
        )
        self.look(vnf_instance, request)

    def look(self, vnf_instance, request):
        self.call(
            "post_vnf_instantiation",
            vnf_instance=vnf_instance,
            vim_connection_info=self.vim,
            instantiate_vnf_req=request,
        )

    def scale(self, vnf_instance, aspect, level, steps=1, **ours):
        info = vnf_instance.instantiated_vnf_info
        self.vnf_dict = {
            "instance_id": info.instance_id,
            "policy_name": aspect,
            "after_scale_level": level,
            "vnf_lcm_op_occ": occurrence(ours),
        }
        common = {
            "plugin": None,
            "auth_attr": self.vim.access_info,
            "region_name": None,
        }
        before = self.call("get_scale_ids", vnf_dict=self.vnf_dict, **common)
        policy = {
            "instance_id": info.instance_id,
            "name": aspect,
            "vnf": self.vnf_dict,
            "action": "out",
            "vnf_instance_id": vnf_instance.id,
            "vdu_defs": {},
            "delta_num": 1,
        }
        for _ in range(steps):
            event = self.call("scale", policy=policy, **common)
            self.call(
                "scale_wait", policy=policy, last_event_id=event, **common
            )
        self.call(
            "scale_resource_update",
            vnf_instance=vnf_instance,
            vnf_info=self.vnf_dict,
            scale_vnf_request=None,
            vim_connection_info=self.vim,
        )
        after = self.call("get_scale_ids", vnf_dict=self.vnf_dict, **common)
        return set(after) - set(before)

    def heal(self, vnf_instance, request):
        """Of the whole instance: terminated and instantiated, to Tacker."""
        vnf_instance.instantiation_state = "INSTANTIATED"
        vnf_instance.task_state = "HEALING"
        info = vnf_instance.instantiated_vnf_info
        levels = info.scale_status
        self.terminate(vnf_instance)
        info.reinitialize()
        vnf_instance.task_state = "INSTANTIATING"
        self.instantiate(vnf_instance, request, scale_status=levels)
        vnf_instance.task_state = None

    def roll_back_scale(self, vnf_instance, aspect, **ours):
        info = vnf_instance.instantiated_vnf_info
        vnf_info = {
            "instance_id": info.instance_id,
            "vnf_lcm_op_occ": occurrence(ours),
        }
        common = {
            "plugin": None,
            "auth_attr": self.vim.access_info,
            "region_name": None,
        }
        _, names, group = self.call(
            "get_rollback_ids", vnf_dict=vnf_info, aspect_id=aspect, **common
        )
        self.call(
            "scale_in_reverse",
            vnf_info=vnf_info,
            scale_vnf_request=objects.ScaleVnfRequest(aspect_id=aspect),
            scale_name_list=names,
            grp_id=group,
            vnf_instance=vnf_instance,
            **common,
        )
        self.call("scale_update_wait", vnf_info=vnf_info, **common)

    def terminate(self, vnf_instance, request=None):
        info = vnf_instance.instantiated_vnf_info
        common = {
            "plugin": None,
            "vnf_id": info.instance_id,
            "auth_attr": self.vim.access_info,
            "vnf_instance": vnf_instance,
        }
        self.call("delete", terminate_vnf_req=request, **common)
        self.call("delete_wait", **common)


def occurrence(ours):
    """Tacker's record of a scale with these parameters."""
    said = {"additional_params": {"tacker_k8s_cr": ours} if ours else {}}
    return objects.VnfLcmOpOcc(operation_params=json.dumps(said))


@pytest.fixture
def running(tmp_path, secret_search):
    """Tacker's database; the driver's options may be set meanwhile."""
    keys = tmp_path / "vim_keys"
    keys.mkdir()
    with tacker_host.running_operation(keys) as found:
        yield found
        for where, text in found.stored():
            secret_search.search(where, text)


@pytest.fixture
def configured():
    with contextlib.ExitStack() as stack:

        def configure(**options):
            stack.enter_context(tacker_host.override_configuration(**options))

        yield configure


@pytest.fixture
def vim(running, kubectl, kubeconfig, namespace):
    """A VIM as an administrator registers it: URL, token and CA."""
    account = f"{namespace}:vim"
    kubectl("create", "serviceaccount", "vim", "-n", namespace)
    kubectl(
        "create",
        "clusterrolebinding",
        namespace,
        "--clusterrole=cluster-admin",
        f"--serviceaccount={account}",
    )
    token = kubectl("create", "token", "vim", "-n", namespace).strip()
    found = kubeconfigs.load(str(kubeconfig))
    yield running.vim(found.server, token, found.ca)
    kubectl("delete", "clusterrolebinding", namespace)


@pytest.fixture
def unpacked(tmp_path, unique_name):
    """A sample's CSAR as Tacker unpacks it, its group the test's own."""

    def unpack(sample):
        source = tmp_path / "source" / sample
        shutil.copytree(csar.SAMPLES / sample, source)
        for path in source.rglob("*.yaml"):
            text = path.read_text()
            path.write_text(text.replace("telephony.", f"{unique_name}."))
        built = csar.build(source, tmp_path / f"{sample}.zip")
        folder = tmp_path / sample
        with zipfile.ZipFile(built) as archive:
            archive.extractall(folder)
        return str(folder)

    return unpack


@pytest.fixture
def conductor(running, vim, unpacked, secret_search):
    def make(sample):
        return Conductor(running.context, vim, unpacked(sample), secret_search)

    return make


def request_for(namespace, level=None, **ours):
    params = {"namespace": namespace}
    if ours:
        params["tacker_k8s_cr"] = ours
    return objects.InstantiateVnfRequest(
        flavour_id="simple",
        instantiation_level_id=level,
        additional_params=params,
    )


def resources(vnf_instance):
    """Of each VNFC: its VDU and its kind, by id."""
    return {
        item.id: (
            item.vdu_id,
            item.metadata["kind"],
            item.compute_resource.vim_level_resource_type,
        )
        for item in vnf_instance.instantiated_vnf_info.vnfc_resource_info
    }


@pytest.mark.requirement("TK-1", "TK-5", "XO-1")
def test_an_instance_lives_through_tacker(
    running, conductor, vim, namespace, leftover_objects
):
    """Instantiated, looked at, scaled out and in, terminated."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    request = request_for(namespace)

    tacker.instantiate(vnf, request)

    assert f"{namespace}/{vnf.id}" == vnf.instantiated_vnf_info.instance_id
    assert {
        "namespace": namespace,
        "tenant": namespace,
        "tacker_k8s_cr": f"{namespace}/{vnf.id}",
        "tacker_k8s_cr_vim": vim.vim_id,
    } == vnf.vnf_metadata
    assert (
        ErrorPoint.POST_VIM_CONTROL == (tacker.vnf_dict["current_error_point"])
    )
    first = resources(vnf)
    assert [("router", "Pod", "Deployment")] == list(first.values())

    tacker.look(vnf, request)
    assert first == resources(vnf)

    added = tacker.scale(vnf, "routers", 2, steps=2)
    assert 2 == len(added)
    assert 3 == len(resources(vnf))
    assert first.items() <= resources(vnf).items()

    assert not tacker.scale(vnf, "routers", 0)
    assert 1 == len(resources(vnf))

    tacker.terminate(vnf)
    assert [] == leftover_objects(vnf.id, namespace)
    tacker.terminate(vnf)


def test_a_record_may_lie_in_another_namespace(
    running,
    conductor,
    configured,
    vim,
    namespace,
    unique_name,
    kubectl,
    leftover_objects,
):
    """Later operations find it, whatever the configuration is by then."""
    records = f"{unique_name}-records"
    kubectl("create", "namespace", records)
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    request = request_for(namespace, record_namespace=records)

    tacker.instantiate(vnf, request)

    where = f"{records}/{vnf.id}"
    assert where == vnf.instantiated_vnf_info.instance_id
    assert where == vnf.vnf_metadata["tacker_k8s_cr"]
    assert namespace == vnf.vnf_metadata["namespace"]
    assert "" == kubectl("get", "lease", "-n", namespace, "-o", "name")
    tacker.scale(vnf, "routers", 2, steps=2)
    configured(record_namespace="elsewhere")
    tacker.heal(vnf, request_for(namespace))
    assert where == vnf.instantiated_vnf_info.instance_id
    assert 3 == len(resources(vnf))
    tacker.terminate(vnf)
    assert [] == leftover_objects(vnf.id, namespace)
    assert "" == kubectl("get", "lease", "-n", records, "-o", "name")
    kubectl("delete", "namespace", records, "--wait=false")


def test_the_manifests_name_the_namespace(
    running, vim, secret_search, tmp_path, namespace, leftover_objects
):
    """The request names none: the record is where the objects are."""
    given = [small_packages.web(), small_packages.db()]
    for manifest in given:
        manifest["metadata"]["namespace"] = namespace
    path, _ = small_packages.build_csar(tmp_path, given)
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    tacker = Conductor(running.context, vim, str(folder), secret_search)
    vnf = running.vnf_instance(vim)
    request = request_for("")

    tacker.instantiate(vnf, request)

    assert f"{namespace}/{vnf.id}" == vnf.instantiated_vnf_info.instance_id
    assert namespace == vnf.vnf_metadata["namespace"]
    tacker.heal(vnf, request)
    assert f"{namespace}/{vnf.id}" == vnf.instantiated_vnf_info.instance_id
    tacker.terminate(vnf)
    assert [] == leftover_objects(vnf.id, namespace)


def test_the_instantiation_level_sets_the_replicas(
    running, conductor, vim, namespace
):
    """The request's level, and Tacker hears of the scale levels."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    levels = k8s_cr.load(tacker.package).vnfd.levels
    level = max(levels, key=lambda name: levels[name]["routers"])

    tacker.instantiate(vnf, request_for(namespace, level))

    [told] = vnf.instantiated_vnf_info.scale_status
    assert ("routers", levels[level]["routers"]) == (
        told.aspect_id,
        told.scale_level,
    )
    assert 1 + levels[level]["routers"] == len(resources(vnf))
    tacker.terminate(vnf)


def test_a_retry_after_all_was_made_is_harmless(
    running, conductor, vim, namespace, leftover_objects
):
    """Tacker instantiates again when a later step of it failed."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    tacker.instantiate(vnf, request_for(namespace))
    first = resources(vnf)

    tacker.instantiate(
        vnf, request_for(namespace), ErrorPoint.POST_VIM_CONTROL
    )

    assert first == resources(vnf)
    tacker.terminate(vnf)
    assert [] == leftover_objects(vnf.id, namespace)


def test_an_instance_that_tacker_forgot_is_adopted(
    running, conductor, vim, namespace, leftover_objects
):
    """A failed instantiation was given up, and another one asked for.

    Tacker lets none come here of an instance that it holds instantiated.
    """
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    tacker.instantiate(vnf, request_for(namespace))
    first = resources(vnf)
    levels = k8s_cr.load(tacker.package).vnfd.levels
    level = max(levels, key=lambda name: levels[name]["routers"])
    vnf.instantiated_vnf_info.reinitialize()

    tacker.instantiate(vnf, request_for(namespace, level))

    assert first.items() <= resources(vnf).items()
    assert 1 + levels[level]["routers"] == len(resources(vnf))
    tacker.terminate(vnf)
    assert [] == leftover_objects(vnf.id, namespace)


def test_what_an_earlier_try_left_elsewhere_is_not_forgotten(
    running, conductor, vim, namespace, leftover_objects
):
    """In another namespace no later operation would find it."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    tacker.instantiate(vnf, request_for(namespace))
    where = vnf.instantiated_vnf_info.instance_id
    vnf.instantiated_vnf_info.reinitialize()

    with pytest.raises(exceptions.Conflict, match=namespace):
        tacker.instantiate(vnf, request_for("default"))

    vnf.instantiated_vnf_info.instance_id = where
    tacker.terminate(vnf)
    assert [] == leftover_objects(vnf.id, namespace)


@pytest.fixture
def powerless_token(kubectl, namespace):
    """A token of an account that may do nothing."""
    kubectl("create", "serviceaccount", "powerless", "-n", namespace)
    return kubectl("create", "token", "powerless", "-n", namespace).strip()


def test_what_an_earlier_try_left_on_another_vim_is_not_forgotten(
    running, conductor, vim, namespace, leftover_objects, powerless_token
):
    """It is refused by the VIM's id until the first one is cleaned up."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    tacker.instantiate(vnf, request_for(namespace))
    where = vnf.instantiated_vnf_info.instance_id
    vnf.instantiated_vnf_info.reinitialize()
    known = vim.access_info
    port = known["auth_url"].rpartition(":")[2]
    tacker.vim = running.vim(
        f"https://localhost:{port}", powerless_token, known["ssl_ca_cert"]
    )
    found = f"already exists in namespace {namespace} of VIM {vim.vim_id}"

    with pytest.raises(exceptions.Conflict, match=found):
        tacker.instantiate(vnf, request_for(namespace))

    tacker.vim = vim
    vnf.instantiated_vnf_info.instance_id = where
    tacker.terminate(vnf)
    assert [] == leftover_objects(vnf.id, namespace)
    assert "tacker_k8s_cr_vim" not in vnf.vnf_metadata


def test_a_cluster_may_be_registered_again(
    running, conductor, vim, namespace, leftover_objects
):
    """The record is found there, whatever the VIM's id and address."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    tacker.instantiate(vnf, request_for(namespace))
    first = resources(vnf)
    vnf.instantiated_vnf_info.reinitialize()
    known = vim.access_info
    port = known["auth_url"].rpartition(":")[2]
    tacker.vim = running.vim(
        f"https://localhost:{port}",
        known["bearer_token"],
        known["ssl_ca_cert"],
    )

    tacker.instantiate(vnf, request_for(namespace))

    assert first == resources(vnf)
    tacker.terminate(vnf)
    assert [] == leftover_objects(vnf.id, namespace)


def test_a_vim_that_cannot_be_asked_is_refused_too(
    running, conductor, vim, namespace, leftover_objects
):
    """The state is unknown; another VNF instance is the way out."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    former = str(uuid.uuid4())
    target = InstanceTarget(vnf.id, namespace, {}, namespace=namespace)
    mapping.note_reference(vnf, target, former)

    with pytest.raises(exceptions.Conflict, match="another VNF inst") as error:
        tacker.instantiate(vnf, request_for(namespace))

    assert f"namespace {namespace} of VIM {former}" in str(error.value)
    assert [] == leftover_objects(vnf.id, namespace)


def test_a_user_that_may_not_read_records_has_left_nothing(
    running, conductor, vim, namespace, powerless_token, caplog
):
    """A namespace that the VIM's user may not use does not block.

    Neither the rollback, nor the next try in another one.
    """
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    vim.access_info["bearer_token"] = powerless_token
    with pytest.raises(vnfm.CNFCreateWaitFailed):
        tacker.instantiate(vnf, request_for("kube-system"))

    tacker.terminate(vnf)
    assert "is in namespace kube-system" in caplog.text
    caplog.clear()

    with pytest.raises(vnfm.CNFCreateWaitFailed, match=namespace):
        tacker.instantiate(vnf, request_for(namespace))
    assert "is in namespace kube-system" in caplog.text

    info = vnf.instantiated_vnf_info
    info.instance_id = f"{namespace}/{vnf.id}"
    with pytest.raises(vnfm.VNFDeleteFailed):
        tacker.terminate(vnf)


@pytest.fixture
def healing(running):
    """Tacker's record of a heal that has begun, with these parameters."""

    def begin(vnf, **params):
        at = datetime.datetime.now(datetime.timezone.utc)
        made = objects.VnfLcmOpOcc(
            context=running.context,
            id=str(uuid.uuid4()),
            operation_state="PROCESSING",
            start_time=at,
            state_entered_time=at,
            vnf_instance_id=vnf.id,
            operation="HEAL",
            is_automatic_invocation=False,
            is_cancel_pending=False,
            operation_params=json.dumps({"additionalParams": params}),
            error_point=0,
            tenant_id=running.TENANT,
        )
        made.create()
        return made

    return begin


def test_a_heal_has_parameters_of_its_own(
    running, conductor, vim, namespace, healing
):
    """Of its request, and not of the instantiation's."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    request = request_for(namespace)
    tacker.instantiate(vnf, request)
    first = resources(vnf)
    healing(vnf, tacker_k8s_cr={"tiemout": 5})

    with pytest.raises(exceptions.InvalidInput, match="is timeout meant"):
        tacker.heal(vnf, request)

    assert f"{namespace}/{vnf.id}" == vnf.instantiated_vnf_info.instance_id
    assert first == resources(vnf)
    tacker.terminate(vnf)


def test_a_heal_that_was_done_is_not_done_again_by_a_retry(
    running, conductor, vim, namespace, healing
):
    """A later step of it failed. Another heal replaces all."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    request = request_for(namespace, timeout=1)
    tacker.instantiate(vnf, request_for(namespace))
    first = resources(vnf)
    begun = healing(vnf, tacker_k8s_cr={"timeout": 60})

    tacker.heal(vnf, request)
    second = resources(vnf)
    assert not first.keys() & second.keys()
    tacker.heal(vnf, request)
    assert second == resources(vnf)

    begun.operation_state = "COMPLETED"
    begun.save()
    healing(vnf)
    tacker.heal(vnf, request)
    assert not second.keys() & resources(vnf).keys()
    tacker.terminate(vnf)


def test_a_heal_of_a_lost_instance_creates_it_again(
    running, conductor, vim, namespace, leftover_objects, kubectl
):
    """Its record was removed; the levels are those that Tacker has."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    request = request_for(namespace)
    tacker.instantiate(vnf, request)
    info = vnf.instantiated_vnf_info
    info.scale_status[0].scale_level = 1
    vnf.instantiation_state = "NOT_INSTANTIATED"
    tacker.terminate(vnf)

    tacker.heal(vnf, request)

    assert f"{namespace}/{vnf.id}" == vnf.instantiated_vnf_info.instance_id
    assert 2 == len(resources(vnf))
    tacker.terminate(vnf)
    assert [] == leftover_objects(vnf.id, namespace)


def test_rows_of_resources_are_not_repeated(
    running, conductor, vim, namespace
):
    """A retry writes them again, and each is read in a termination."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)

    def rows():
        return [
            (row.resource_type, row.resource_name, row.resource_identifier)
            for row in objects.VnfResourceList.get_by_vnf_instance_id(
                running.context, vnf.id
            ).objects
        ]

    tacker.instantiate(vnf, request_for(namespace))
    first = rows()
    tacker.instantiate(
        vnf, request_for(namespace), ErrorPoint.POST_VIM_CONTROL
    )

    assert first == rows()
    assert len(k8s_cr.load(tacker.package).manifests) == len(first)
    assert {f"{namespace}/{vnf.id}"} == {where for _, _, where in first}
    tacker.terminate(vnf)


def test_a_scale_is_rolled_back_to_the_level_that_tacker_has(
    running, conductor, vim, namespace, cluster
):
    """It is absolute, so that doing it twice is doing it once.

    If the scale was refused there is nothing to roll back, and that is not an
    error.
    """
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    tacker.instantiate(vnf, request_for(namespace))
    first = resources(vnf)
    tacker.scale(vnf, "routers", 2)

    tacker.roll_back_scale(vnf, "routers")
    tacker.roll_back_scale(vnf, "routers")

    tacker.look(vnf, request_for(namespace))
    assert len(first) == len(resources(vnf))
    autoscaler = cluster.create(autoscaling("call-router", namespace), "test")
    with pytest.raises(exceptions.InvalidInput, match="HorizontalPodAuto"):
        tacker.scale(vnf, "routers", 2)
    tacker.roll_back_scale(vnf, "routers")
    cluster.delete(ObjectRef.of(autoscaler), autoscaler["metadata"]["uid"])
    tacker.terminate(vnf)


def test_a_scale_that_moved_autoscaler_limits_is_rolled_back(
    running, conductor, vim, namespace, cluster
):
    """As its request said; the bounds go with the number.

    A scale that succeeded has forgotten which bounds there were before.
    """
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    tacker.instantiate(vnf, request_for(namespace))
    router = ObjectRef("apps", "Deployment", namespace, "call-router")
    notes = scaling.as_annotations(scaling.ReplicaLimits(1, 2))
    cluster.patch(router, {"metadata": {"annotations": notes}}, "test")

    def found():
        obj = cluster.get(router)
        notes = obj["metadata"]["annotations"]
        return obj["spec"]["replicas"], scaling.annotated_limits(notes)

    first, _ = found()
    tacker.scale(vnf, "routers", 2, autoscaler_limits="adjust")
    assert (first + 2, scaling.ReplicaLimits(first + 2, first + 2)) == found()

    tacker.roll_back_scale(
        vnf, "routers", autoscaler_limits="adjust", machines_to_delete=["x"]
    )

    assert (first, scaling.ReplicaLimits(first, first + 2)) == found()
    tacker.terminate(vnf)


def autoscaling(name, namespace):
    """An autoscaler of a Deployment."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"scaleTargetRef": target, "maxReplicas": 2},
    }


def test_the_error_point_is_set_before_the_first_write(
    running, conductor, vim, namespace
):
    """Else Tacker's rollback of a failed scale would change nothing."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    tacker.instantiate(vnf, request_for(namespace))

    with pytest.raises(exceptions.InvalidInput, match="levels are"):
        tacker.scale(vnf, "routers", 99)

    assert (
        ErrorPoint.POST_VIM_CONTROL == (tacker.vnf_dict["current_error_point"])
    )
    tacker.terminate(vnf)


def test_a_grant_names_what_a_scale_adds_and_removes(
    running, conductor, vim, namespace
):
    """One definition for each VNFC, by VDU."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    tacker.instantiate(vnf, request_for(namespace))
    tacker.scale(vnf, "routers", 2)
    info = vnf.instantiated_vnf_info
    info.scale_status[0].scale_level = 2

    def request_grant(level):
        vnf_info = {"after_scale_level": level}
        tacker.infra.invoke(
            "kubernetes",
            "get_grant_resource",
            plugin=None,
            vnf_instance=vnf,
            vnf_info=vnf_info,
            scale_vnf_request=objects.ScaleVnfRequest(aspect_id="routers"),
            placement_obj_list=[],
            vim_connection_info=vim,
            del_list=[],
        )
        assert [] == vnf_info["placement_constraint_list"]
        return (
            [item.vdu_id for item in vnf_info["addResources"]],
            [item.id for item in vnf_info["removeResources"]],
        )

    more, less = request_grant(3)
    assert (["router"], []) == (more, less)
    more, less = request_grant(0)
    assert [] == more
    assert 2 == len(less)
    assert set(less) < resources(vnf).keys()
    assert [] == tacker.infra.invoke(
        "kubernetes", "get_cinder_list", vnf_info=tacker.vnf_dict
    )
    tacker.terminate(vnf)


# -- Synchronization ----------------------------------------------------------


@pytest.fixture
def synchronized(running, conductor, vim, namespace):
    """An instance at rest, and what Tacker keeps of it after a round."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    tacker.instantiate(vnf, request_for(namespace))
    vnf.instantiation_state = "INSTANTIATED"
    vnf.save()

    def kept(before=lambda: None):
        before()
        known = objects.VnfInstance.get_by_id(running.context, vnf.id)
        tacker.call("sync_db", vnf_instance=known, vim_info=vim)
        return objects.VnfInstance.get_by_id(running.context, vnf.id)

    yield vnf, kept
    tacker.terminate(vnf)


def router(kubectl, namespace):
    names = kubectl("get", "deploy", "-n", namespace, "-o=name").split()
    return next(name for name in names if "router" in name)


def level(vnf_instance):
    [item] = vnf_instance.instantiated_vnf_info.scale_status
    return item.scale_level


def test_what_changed_without_tacker_is_noted(
    synchronized, kubectl, namespace
):
    """Members and scale levels, as soon as they differ."""
    vnf, kept = synchronized
    first = resources(vnf)
    assert first == resources(kept())
    name = router(kubectl, namespace)
    place = ("-n", namespace)
    kubectl("scale", name, "--replicas=3", *place)
    kubectl("rollout", "status", name, "--timeout=60s", *place)

    found = kept()

    assert 3 == len(resources(found))
    assert first.items() < resources(found).items()
    assert 2 == level(found)
    assert None is found.task_state


def test_numbers_of_no_level_change_no_level(synchronized, kubectl, namespace):
    """The members are noted; the VNFD has no word for their number."""
    vnf, kept = synchronized
    name = router(kubectl, namespace)
    kubectl("scale", name, "--replicas=9", "-n", namespace)
    kubectl("rollout", "status", name, "--timeout=60s", "-n", namespace)

    found = kept()

    assert 9 == len(resources(found))
    assert level(vnf) == level(found)


@pytest.mark.parametrize("state", ["SCALING", "HEALING", "ERROR"])
def test_what_an_operation_has_is_left_alone(
    synchronized, kubectl, namespace, state
):
    """Tacker's task state shows that one exists, or existed."""
    vnf, kept = synchronized
    name = router(kubectl, namespace)
    kubectl("scale", name, "--replicas=2", "-n", namespace)
    kubectl("rollout", "status", name, "--timeout=60s", "-n", namespace)
    vnf.task_state = state
    vnf.save()

    found = kept()

    assert resources(vnf) == resources(found)
    assert state == found.task_state


def test_a_locked_instance_is_left_alone(synchronized, kubectl, namespace):
    """Its Lease shows that an operation runs, of Tacker or not."""
    vnf, kept = synchronized
    name = router(kubectl, namespace)
    kubectl("scale", name, "--replicas=2", "-n", namespace)
    kubectl("rollout", "status", name, "--timeout=60s", "-n", namespace)
    lease = f"lease/tacker-k8s-cr.{vnf.id}"
    held = json.dumps({"spec": {"holderIdentity": "laptop/1/a"}})
    kubectl("patch", lease, "-n", namespace, "--type=merge", "-p", held)

    assert resources(vnf) == resources(kept())

    free = json.dumps({"spec": {"holderIdentity": ""}})
    kubectl("patch", lease, "-n", namespace, "--type=merge", "-p", free)
    assert 2 == len(resources(kept()))


def test_an_instantiation_that_ends_early_can_be_rolled_back(
    running, conductor, vim, namespace, leftover_objects
):
    """Tacker deletes what exists: the error point requires that."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    manifest = pathlib.Path(
        tacker.package, "Files/kubernetes/never_scheduled.yaml"
    )
    manifest.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "never"},
                "spec": {
                    "nodeSelector": {"example.org/no-such": "node"},
                    "containers": [{"name": "c", "image": "pause"}],
                },
            }
        )
    )
    _add_artifact(tacker.package, "Files/kubernetes/never_scheduled.yaml")

    with pytest.raises(vnfm.CNFCreateWaitFailed, match="Pod/") as caught:
        tacker.instantiate(vnf, request_for(namespace, timeout=6))

    assert "never" in str(caught.value)
    assert (
        ErrorPoint.POST_VIM_CONTROL == (tacker.vnf_dict["current_error_point"])
    )
    assert not vnf.instantiated_vnf_info.instance_id
    tacker.terminate(vnf)
    assert [] == leftover_objects(vnf.id, namespace)


def _add_artifact(package, name):
    import hashlib

    content = pathlib.Path(package, name).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    meta = pathlib.Path(package, "TOSCA-Metadata/TOSCA.meta")
    meta.write_text(
        f"{meta.read_text()}\nName: {name}\nContent-Type: text/yaml\n"
        f"Algorithm: SHA-256\nHash: {digest}\n"
    )


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"tacker_k8s_cr": {"time_out": 5}}, "time_out: no such parameter"),
        (
            {"lcm-kubernetes-def-files": ["a.yaml"]},
            "a.yaml is not an artifact",
        ),
    ],
)
def test_a_request_that_cannot_be_is_refused_early(
    running, conductor, vim, namespace, leftover_objects, params, said
):
    """Before anything is written, with the parameter's name."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    request = request_for(namespace)
    request.additional_params = {"namespace": namespace, **params}

    with pytest.raises(exceptions.InvalidInput, match=said):
        tacker.instantiate(vnf, request)

    assert (
        ErrorPoint.PRE_VIM_CONTROL == (tacker.vnf_dict["current_error_point"])
    )
    assert [] == leftover_objects(vnf.id, namespace)


def test_a_wrong_token_is_reported_without_showing_it(
    running, conductor, vim, namespace
):
    """The API server's refusal reaches the user, the token does not."""
    tacker = conductor("custom_resource")
    vnf = running.vnf_instance(vim)
    vim.access_info["bearer_token"] = "planted-token-0815"

    with pytest.raises(vnfm.CNFCreateWaitFailed) as caught:
        tacker.instantiate(vnf, request_for(namespace))

    assert "refuses the credential" in str(caught.value)
    assert "planted" not in str(caught.value)


@pytest.mark.capi
@pytest.mark.requirement("TK-12", "TK-14", "I8", "J2")
def test_a_workload_cluster_is_delivered(
    running, conductor, vim, namespace, configured, tmp_path, kubectl
):
    """The receiver gets a kubeconfig that works.

    The receiver fails at first; the message comes again, with one id.
    """
    tacker = conductor("capi_workload_cluster")
    vnf = running.vnf_instance(vim)
    request = request_for(namespace)
    with Receiver(tmp_path, KEY, [Answer(500, "not yet")]) as receiver:
        configured(
            webhook_url=receiver.url,
            webhook_ca_file=str(receiver.ca_file),
            webhook_secret=KEY,
        )
        tacker.hook("instantiate_start", vnf, request)
        tacker.instantiate(vnf, request)
        tacker.hook("instantiate_end", vnf, request, vnf=tacker.vnf_dict)
        tacker.look(vnf, request)

        [posted] = receiver.accepted.values()
        assert 2 == len(receiver.posted)
        assert 1 == len({item.id for item in receiver.posted})

        tacker.hook("instantiate_end", vnf, request, vnf=tacker.vnf_dict)
        assert 2 == len(receiver.posted)

    data = posted.message["data"]
    assert (vnf.id, "workload", namespace) == (
        data["vnfInstanceId"],
        data["cluster"]["name"],
        data["cluster"]["namespace"],
    )
    path = tmp_path / "got.kubeconfig"
    path.write_text(data["kubeconfig"])
    nodes = kubectl("get", "nodes", "-o", "name", "--kubeconfig", str(path))
    assert 2 == len(nodes.split())
    assert {
        ("control_plane", "Machine", "KubeadmControlPlane"),
        ("workers", "Machine", "MachineDeployment"),
    } == set(resources(vnf).values())

    assert 2 == len(tacker.scale(vnf, "workers", 2))
    assert 4 == len(resources(vnf))

    tacker.terminate(vnf)
