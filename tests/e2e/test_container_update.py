"""Tacker's own scripts for container update, with its own sample packages.

A script changes images, ConfigMaps and Secrets of an instance without the
driver. Later operations go on from what it made of them.
"""

from __future__ import annotations

import os
import shutil
import uuid
import zipfile

import pytest

import tacker_k8s_cr as k8s_cr
from tests.e2e import held_vnf
from tools.tacker import Host
from tools.tacker import Options
from tools.tacker import rest_api
from tools.tacker.rest_api import Api
from tools.upstream import column_environment
from tools.upstream import source

pytestmark = pytest.mark.plane

V1 = "samples/tests/etc/samples/etsi/nfv"
V2 = "samples/tests/functional/sol_kubernetes_v2"
TYPES = f"{V2}/common/Definitions"
SCRIPT_V2 = "tacker/sol_refactored/mgmt_drivers/container_update_mgmt_v2.py"

CONFIGURATION = (
    "Files/kubernetes/configmap_2.yaml",
    "Files/kubernetes/secret_2.yaml",
)
"""What the script has to replace ConfigMaps and Secrets by."""

FILES = tuple(
    f"Files/kubernetes/{name}.yaml"
    for name in (
        "configmap_1",
        "deployment",
        "pod_env",
        "pod_volume",
        "replicaset",
        "secret_1",
        "configmap_3",
        "pod_env_2",
        "pod_volume_2",
        "daemonset",
        "deployment_2",
        "secret_3",
    )
)


@pytest.fixture(scope="module")
def tacker_source(tmp_path_factory):
    """Tacker's source distribution, unpacked."""
    cache = source.cache(os.environ)
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = tmp_path_factory.mktemp("source")
    return source.unpack(source.archive(cache, print), folder)


@pytest.fixture(scope="module")
def updated_host(tmp_path_factory, tacker_source):
    """A Tacker with the v1 script installed, which v1 asks for."""
    plugin = tmp_path_factory.mktemp("plugin") / "services"
    shutil.copytree(column_environment.SERVICES, plugin)
    shutil.copy(
        tacker_source / column_environment.SCRIPT, plugin / "upstream_services"
    )
    found = Host.from_folder(tmp_path_factory.mktemp("updated") / "run")
    found.up(
        Options(
            management=column_environment.MANAGEMENT, plugins=(str(plugin),)
        )
    )
    yield found
    found.down()


def zipped(tree, folder, out, script):
    """A CSAR of a sample, with a VNFD id of its own; the id."""
    copy = out / uuid.uuid4().hex
    shutil.copytree(folder, copy)
    for path in (tree / TYPES).iterdir():
        shutil.copy(path, copy / "Definitions")
    vnfd = str(uuid.uuid4())
    top = (copy / "Definitions/sample_top.vnfd.yaml").read_text()
    [line] = [line for line in top.splitlines() if "descriptor_id: " in line]
    former = line.split()[1]
    for path in (copy / "Definitions").iterdir():
        path.write_text(path.read_text().replace(former, vnfd))
    (copy / "Scripts").mkdir()
    shutil.copy(script, copy / "Scripts")
    archive = out / f"{vnfd}.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(copy.rglob("*")):
            file.write(path, path.relative_to(copy))
    return vnfd, archive


@pytest.fixture(params=["v1", "v2"])
def api(request, updated_host):
    found = Api(updated_host.url, request.param)
    yield found
    found.close()


@pytest.fixture
def registered(api, administrator):
    """The cluster, as a VIM of this Tacker."""
    default = not any(vim["is_default"] for vim in api.vims())
    return api.register_vim(administrator, default=default)


@pytest.fixture
def vnfds(api, tacker_source, tmp_path):
    """The ids of the packages before and after the update."""
    found = []
    for when in ("before", "after"):
        name = f"test_cnf_container_update_{when}"
        folder = tacker_source / V1 / name
        script = tacker_source / column_environment.SCRIPT
        if api.version == "v2":
            folder = tacker_source / V2 / name / "contents"
            script = tacker_source / SCRIPT_V2
        vnfd, archive = zipped(tacker_source, folder, tmp_path, script)
        api.upload(archive)
        found.append(vnfd)
    return found


def test_operations_continue_from_the_containers_that_a_script_updated(
    api,
    registered,
    vnfds,
    namespace,
    kubectl,
    cluster,
    assert_no_leftovers,
    leftover_objects,
):
    """Heal, scale, change and rollback neither conflict nor revert."""
    before, after = vnfds
    life = {
        "namespace": namespace,
        "deadline": k8s_cr.Deadline.after(600),
    }
    vnf = api.create(before)
    api.done(
        vnf,
        "instantiate",
        rest_api.instantiation(api, registered, FILES, namespace=namespace),
    )

    def shown():
        """What the script changes: two images and a value."""
        path = "-o=jsonpath={.spec.template.spec.containers[0].image}"
        return (
            kubectl("get", "deploy", "vdu1-update", "-n", namespace, path),
            kubectl(
                "get", "daemonset", "daemonset-vdu5", "-n", namespace, path
            ),
            "foo2"
            in kubectl("get", "cm", "cm-data", "-n", namespace, "-o=yaml"),
        )

    def drift():
        return k8s_cr.drift(k8s_cr.Request(cluster, vnf, **life)).objects

    def pods(vdu):
        """Names of a VDU's Pods, as Tacker has them."""
        found = [v for v in api.vnfcs(vnf) if vdu == v["vduId"]]
        return {v["computeResource"]["resourceId"] for v in found}

    def running(name):
        """Names of a Deployment's Pods, as the cluster has them."""
        listed = kubectl("get", "pods", "-n", namespace, "-o=name").split()
        return {
            pod.removeprefix("pod/")
            for pod in listed
            if pod.startswith(f"pod/{name}-")
        }

    assert ("nginx", "nginx", False) == shown()
    modified = api.modify(
        vnf,
        {
            "vnfdId": after,
            "metadata": {"configmap_secret_paths": list(CONFIGURATION)},
        },
    )
    updated = ("cirros", "cirros", True)
    held_vnf.wait_for(
        "the update",
        lambda: (
            updated == shown()
            and after == api.show(vnf)["vnfdId"]
            and pods("VDU1") == running("vdu1-update")
        ),
    )
    if api.version == "v2":
        assert "COMPLETED" == api.wait(modified)["operationState"]

    # -- Heal ------------------------------------------------------------
    ids = [v["id"] for v in api.vnfcs(vnf) if "VDU1" == v["vduId"]]
    if api.version == "v2":
        info = api.show(vnf)["instantiatedVnfInfo"]["vnfcInfo"]
        ids = [v["id"] for v in info if v["vnfcResourceInfoId"] in ids]
    api.done(vnf, "heal", rest_api.healing(ids[:1]))
    assert () == drift()
    assert updated == shown()
    api.done(vnf, "heal", rest_api.healing())
    assert updated == shown()

    # -- Scale, and roll back one that fails ------------------------------
    api.done(vnf, "scale", rest_api.scaling("vdu1_aspect", 1))
    assert updated == shown()
    kubectl("create", "quota", "none", "--hard=pods=0", "-n", namespace)
    brief = {"tacker_k8s_cr": {"timeout": 10}}
    failed = api.run(vnf, "scale", rest_api.scaling("vdu1_aspect", 1, **brief))
    assert "FAILED_TEMP" == failed["operationState"]
    held_vnf.roll_back(api, failed["id"])
    assert updated == shown()
    assert () == drift()

    # -- Change, where the API has it, and take it back --------------------
    without_quota = ("delete", "quota", "none", "-n", namespace)
    if api.version == "v1":
        kubectl(*without_quota)
    else:
        back_to = rest_api.changing(before, FILES, **brief)
        failed = api.run(vnf, "change_vnfpkg", back_to)
        assert "FAILED_TEMP" == failed["operationState"]
        kubectl(*without_quota)
        held_vnf.roll_back(api, failed["id"])
        assert updated == shown()
        assert () == drift()
        api.done(vnf, "change_vnfpkg", rest_api.changing(before, FILES))
        assert ("nginx", "nginx", False) == shown()
        assert () == drift()

    api.done(vnf, "terminate", rest_api.FORCEFUL)
    api.delete(vnf)
    assert [] == leftover_objects(vnf)
