"""Instances of Tacker's own driver, adopted by this driver in both APIs.

Tacker starts with its own driver and instantiates; then it is started again
with this driver. One instance of each API is adopted by the command, and
another by the synchronization of Tacker's database. No Pod may change.
"""

from __future__ import annotations

import json
import subprocess

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model.objects import GroupKind
from tests import output_schemas
from tests.e2e import handover
from tests.e2e import held_vnf
from tests.e2e import packages
from tests.e2e.packages import Vdu
from tools.tacker import Options
from tools.tacker import configuration
from tools.tacker import rest_api
from tools.tacker import services
from tools.tacker.rest_api import Api

pytestmark = pytest.mark.plane

SHORT = (("kubernetes_vim.stack_retry_wait", "1"),)
NAMES = ("commanded", "synchronized")
APIS = ("v1", "v2")


def driven(by, **ours):
    settings = {f"tacker_k8s_cr.{name}": value for name, value in ours.items()}
    return Options(
        drivers=(by,), settings=(*SHORT, *settings.items()), sync=10
    )


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """A Tacker whose APIs are served by its own driver."""
    folder = tmp_path_factory.mktemp("adopting")
    with handover.running_tacker(folder, driven("kubernetes")) as found:
        yield found


@pytest.fixture(scope="module")
def apis(before):
    found = {version: Api(before.url, version) for version in APIS}
    yield found
    for api in found.values():
        api.close()


@pytest.fixture(scope="module")
def make_namespace(kubectl):
    name = f"adopting-{id(kubectl):x}"
    kubectl("create", "namespace", name)
    for api in APIS:
        for one in NAMES:
            kubectl("create", "namespace", f"{name}-{api}-{one}")
    yield name
    for api in APIS:
        for one in NAMES:
            kubectl(
                "delete", "namespace", f"{name}-{api}-{one}", "--wait=false"
            )
    kubectl("delete", "namespace", name, "--wait=false")


def csar(folder, version):
    """What Tacker's own driver can instantiate in both APIs."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "key"},
        "type": "Opaque",
        "stringData": {"key": f"planted-{version}"},
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    }
    image = f"registry.example.org/web:{version}"
    return packages.build(
        folder,
        {
            "settings.yaml": [
                packages.config_map("settings", version=version),
                secret,
                service,
            ],
            "web.yaml": [packages.deployment("web", image=image)],
        },
        [Vdu("web", "web")],
    )


@pytest.fixture(scope="module")
def made(
    tmp_path_factory, before, apis, administrator, make_namespace, cluster
):
    """Instances of Tacker's own driver at scale level 1; ours serves now."""
    vim = apis["v1"].register_vim(administrator, default=True)
    folder = tmp_path_factory.mktemp("packages")
    csars = {version: csar(folder, version) for version in ("1", "2")}
    for found in csars.values():
        apis["v1"].upload(found.path)
    vnfs = {}
    for version, api in apis.items():
        target = vim if version == "v1" else administrator
        for name in NAMES:
            vnf = api.create(csars["1"].vnfd)
            namespace = f"{make_namespace}-{version}-{name}"
            body = rest_api.instantiation(
                api, target, csars["1"].files, namespace=namespace
            )
            api.done(vnf, "instantiate", body)
            api.done(vnf, "scale", {"type": "SCALE_OUT", "aspectId": "web"})
            vnfs[version, name] = vnf
    pods = {key: uids(cluster, make_namespace, key) for key in vnfs}
    before.reload(driven("kubernetes_cr"))
    return vnfs, pods, csars


def uids(cluster, space, key):
    """Of the Pods of an instance."""
    namespace = "-".join((space, *key))
    return {
        pod["metadata"]["uid"]
        for pod in cluster.list_objects(GroupKind("", "Pod"), namespace)
    }


def command(host, *words):
    """The command as an operator runs it, in the conductor's environment."""
    folders = host.folders
    done = subprocess.run(
        [
            str(folders.environment / "bin" / "tacker-k8s-cr"),
            *("adopt", "-f", "json"),
            *configuration.arguments(folders, host.state),
            *words,
        ],
        env=services.tacker_environ(folders),
        text=True,
        capture_output=True,
    )
    assert done.stdout, done.stderr
    output_schemas.check_output(["adopt", "json"], done.stdout)
    rows = json.loads(done.stdout)
    return done.returncode, {row["Instance"]: row["Result"] for row in rows}


def test_what_can_be_adopted_is_listed(before, made):
    """Without an id the command changes nothing."""
    vnfs, _, _ = made

    code, found = command(before)

    assert 0 == code
    assert dict.fromkeys(vnfs.values(), "can be adopted") == found


@pytest.mark.parametrize("api", APIS)
def test_the_command_adopts_an_instance(
    before, apis, made, cluster, make_namespace, api, secret_search
):
    """Its Pods stay, drift is empty, and this driver runs all operations."""
    vnfs, pods, csars = made
    key = (api, "commanded")
    vnf = vnfs[key]

    code, found = command(before, vnf)

    assert (0, "adopted") == (code, found[vnf])
    assert pods[key] == uids(cluster, make_namespace, key)
    namespace = "-".join((make_namespace, *key))
    life = {"namespace": namespace, "deadline": k8s_cr.Deadline.after(60)}
    assert () == k8s_cr.drift(k8s_cr.Request(cluster, vnf, **life)).objects
    assert (2, "refused") == (
        command(before, vnf)[0],
        command(before, vnf)[1][vnf].partition(":")[0],
    )
    lives_on(apis[api], vnf, csars)
    assert [] == [*cluster.list_objects(GroupKind("", "Pod"), namespace)]


@pytest.mark.parametrize("api", APIS)
def test_a_synchronization_adopts_instances(
    before, apis, made, cluster, make_namespace, api
):
    """If the configuration enables it."""
    vnfs, pods, csars = made
    key = (api, "synchronized")
    if "adopt_instances" not in str(before.state.options.settings):
        before.reload(driven("kubernetes_cr", adopt_instances="true"))

    held_vnf.wait_for(
        "adopted",
        lambda: f"{vnfs[key]}: adopted" in before.log(),
        seconds=180,
    )

    assert pods[key] == uids(cluster, make_namespace, key)
    lives_on(apis[api], vnfs[key], csars)


def lives_on(api, vnf, csars):
    """Scale, heal, change where the API has it, and the end."""
    assert 2 == len(api.vnfcs(vnf))
    api.done(vnf, "scale", {"type": "SCALE_OUT", "aspectId": "web"})
    assert 3 == len(api.vnfcs(vnf))
    api.done(vnf, "scale", {"type": "SCALE_IN", "aspectId": "web"})
    before = {vnfc["id"] for vnfc in api.vnfcs(vnf)}
    api.done(vnf, "heal", {})
    assert not before & {vnfc["id"] for vnfc in api.vnfcs(vnf)}
    if api.version == "v2":
        params = {
            "upgrade_type": "RollingUpdate",
            "lcm-kubernetes-def-files": list(csars["2"].files),
            "vdu_params": [],
        }
        body = {"vnfdId": csars["2"].vnfd, "additionalParams": params}
        api.done(vnf, "change_vnfpkg", body)
    api.done(vnf, "terminate", {"terminationType": "FORCEFUL"})
    api.delete(vnf)
