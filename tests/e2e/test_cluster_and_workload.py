"""The whole story: a package makes a cluster, and another is put on it.

The workload cluster is a second control plane, with RBAC and nodes of its
own, beside the one that manages it. Cluster API's own manager brings its
Cluster object to Available, by way of an infrastructure and a control plane
that are Stages. What a control plane provider would do is played by the
test: it writes the Secret with the administrator's kubeconfig.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import dataclasses
import json
import pathlib
import threading
import time
from typing import Any

import pytest
from receiver import Receiver
from receiver import keys_of
from receiver import server
from vims import Tacker
import yaml

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube import check_api
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tests import hosted_cluster as hosting
from tests.e2e import packages
from tools import leftovers
from tools import receiver as receivers
from tools.plane.kubectl import Kubectl
from tools.plane.lifecycle import Plane
from tools.tacker import Host
from tools.tacker import rest_api
from tools.tacker.rest_api import Api
from tools.tacker.vims import Vim

pytestmark = [pytest.mark.plane, pytest.mark.capi]

KEY = base64.b64encode(b"planted-key-of-the-tests, 32 bytes").decode()
OTHER = base64.b64encode(b"another key of 24 bytes!").decode()
SHIFT = 1000
PORT = hosting.PORT + SHIFT
TENANT = "5ac6d1a1e7cc4e54a1a0a3a6e2f6b902"


# -- What plays --------------------------------------------------------------


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A second control plane with nodes, independent of the first."""
    with hosting.start_plane(
        tmp_path_factory.mktemp("workload"), SHIFT
    ) as plane:
        yield plane


@pytest.fixture(scope="module")
def workload_cluster(workload: Plane) -> Iterator[Cluster]:
    """The workload cluster, as its administrator."""
    connected = k8s_cr.connect(kubeconfig=str(workload.folders.kubeconfig))
    yield connected
    connected.close()


@pytest.fixture(scope="module")
def hosted(kubectl: Kubectl) -> None:
    """The kinds of an already running cluster; the local plane has them."""
    hosting.definitions(kubectl)


@dataclasses.dataclass
class Listening:
    """The sample receiver, and the requests it got."""

    sample: Receiver
    url: str
    ca_file: pathlib.Path
    told: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def of(self, instance: str) -> list[dict[str, Any]]:
        """The requests that it got about an instance, in order."""
        return [
            message
            for message in self.told
            if message["data"]["vnfInstanceId"] == instance
        ]


class Noting(Receiver):
    """The sample, which records the accepted requests."""

    def handle(self, headers: Any, body: bytes) -> str:
        done = super().handle(headers, body)
        self.told.append(json.loads(body))
        return done

    told: list[dict[str, Any]]


@pytest.fixture(scope="module")
def listening(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Listening]:
    """The sample receiver, with TLS; it learns later where Tacker is."""
    folder = tmp_path_factory.mktemp("receiver")
    ca_file = folder / "ca.pem"
    certificate = receivers.create_certificate(folder, ca_file)
    sample = Noting(Tacker("", project=TENANT), keys_of(KEY))
    sample.told = []
    with server(sample, ("127.0.0.1", 0), str(certificate)) as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        url = f"https://127.0.0.1:{found.server_port}/"
        yield Listening(sample, url, ca_file, sample.told)
        found.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def tacker_with_receiver(
    host: Host,
    tmp_path_factory: pytest.TempPathFactory,
    listening: Listening,
) -> Iterator[Host]:
    """Tacker, whose management driver delivers to the sample receiver."""
    key = tmp_path_factory.mktemp("keys") / "webhook.key"
    key.write_text(KEY)
    ours = {
        "webhook_url": listening.url,
        "webhook_ca_file": str(listening.ca_file),
        "webhook_secret_file": str(key),
        # So that the values of the request are seen to be remembered.
        "webhook_credential": "admin",
    }
    before = host.state.options
    settings = tuple((f"tacker_k8s_cr.{k}", v) for k, v in ours.items())
    host.reload(
        dataclasses.replace(
            before, settings=(*before.settings, *settings), debug=True
        )
    )
    listening.sample.tacker.url = host.url
    yield host
    host.reload(before)


@pytest.fixture(params=["v1", "v2"])
def api(request: pytest.FixtureRequest, tacker_with_receiver: Host) -> Api:
    """Tacker's API, in both versions."""
    found: Api = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def site_package(
    cluster: Cluster,
    workload: Plane,
    hosted: None,
    namespace: str,
    unique_name: str,
) -> dict[str, list[dict[str, Any]]]:
    """The manifests of the first package; the cluster's Secret is there."""
    cluster.create(
        hosting.kubeconfig_secret(unique_name, namespace, workload), "provider"
    )
    return {
        "cluster.yaml": hosting.manifests(unique_name, SHIFT),
        "agent.yaml": [packages.deployment("site-agent")],
    }


def credential(message: dict[str, Any]) -> Kubeconfig:
    """What a message gives, as a VIM has it."""
    data = message["data"]
    return Kubeconfig(
        where="told",
        server=data["apiServer"],
        ca=data["certificateAuthority"],
        token=data["bearerToken"],
    )


# -- What is looked at --------------------------------------------------------


def vims_of(api: Api, uid: str) -> list[Vim]:
    """The VIMs that Tacker has of a Cluster."""
    return [
        Vim(vim["auth_url"], "", {}, vim["id"])
        for vim in api.vims()
        if uid in vim["description"]
    ]


def connection(api: Api, vim: Vim) -> Any:
    """A registered VIM, by its id alone."""
    found = {"vimId": vim.id, "vimType": "kubernetes"}
    return [{"id": "vim", **found}] if api.version == "v1" else {"v": found}


def until(true: Callable[[], bool], seconds: float = 30) -> None:
    limit = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.2)


@pytest.mark.requirement("TK-12", "TK-15", "TK-19", "F7", "J4")
def test_a_cluster_is_made_and_used_and_ends(
    api,
    vim,
    site_package,
    build_sample,
    upload,
    tmp_path,
    namespace,
    unique_name,
    workload_cluster,
    workload,
    listening,
    tacker_with_receiver,
    assert_no_leftovers,
):
    """Package, cluster, credential, VIM, second package, and the way back."""
    before = leftovers.take_snapshot(workload_cluster)
    vdus = [packages.Vdu("agent", "site-agent")]
    first = packages.build(tmp_path, site_package, vdus, delivers=True)
    second = build_sample("custom_resource")
    upload(first)
    upload(second)

    # The first package brings the cluster; its credential is delivered.
    maker = api.create(first.vnfd)
    delivery = {"webhook": {"credential": "scoped"}}
    api.done(
        maker,
        "instantiate",
        rest_api.instantiation(
            api,
            vim,
            first.files,
            namespace=namespace,
            tacker_k8s_cr=delivery,
        ),
    )
    [issued] = listening.of(maker)
    data = issued["data"]
    assert ("scoped", unique_name, True) == (
        data["credential"],
        data["cluster"]["name"],
        data["vimRegistrable"],
    )

    # The receiver made a VIM of it.
    [made] = vims_of(api, data["cluster"]["uid"])
    assert f"https://127.0.0.1:{PORT}" == made.endpoint

    # Later operations of the instance send it no further request.
    api.done(maker, "scale", rest_api.scaling("agent", 1))
    api.done(maker, "heal", rest_api.healing())
    if api.version == "v2":
        newer = packages.build(
            tmp_path, site_package, vdus, version="2.0", delivers=True
        )
        upload(newer)
        body = rest_api.changing(newer.vnfd, newer.files, ["agent"])
        api.done(maker, "change_vnfpkg", body)
    assert [issued] == listening.of(maker)

    # Unless a new credential is asked for: the VIM gets it.
    renewal = {"webhook": {"renew": True}}
    api.done(maker, "heal", rest_api.healing(tacker_k8s_cr=renewal))
    [_, renewed] = listening.of(maker)
    former, given = credential(issued), credential(renewed)
    assert former.token != given.token
    assert [made] == vims_of(api, data["cluster"]["uid"])

    # The second package is put on the new cluster.
    user = api.create(second.vnfd)
    body = rest_api.instantiation(
        api, vim, second.files, namespace=f"{unique_name}-app"
    )
    workload_cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": f"{unique_name}-app"},
        },
        "t",
    )
    body["vimConnectionInfo"] = connection(api, made)
    api.done(user, "instantiate", body)
    router = ObjectRef(
        "apps", "Deployment", f"{unique_name}-app", "call-router"
    )
    plan = ObjectRef(
        f"{unique_name}.example.org",
        "DialPlan",
        f"{unique_name}-app",
        "default",
    )
    assert workload_cluster.get(plan)
    assert 1 == workload_cluster.get(router)["status"]["availableReplicas"]
    api.done(user, "scale", rest_api.scaling("routers", 2))
    assert 3 == workload_cluster.get(router)["status"]["availableReplicas"]
    assert 3 == len(api.vnfcs(user))
    api.done(user, "terminate", rest_api.FORCEFUL)
    assert None is workload_cluster.get(router)
    api.delete(user)

    # No secret is where one looks.
    planted = [former.token, given.token, *admin_secrets(workload)]
    shown = json.dumps([api.show(maker), occurrences(api)])
    for secret in planted:
        assert secret not in shown
        for service in ("tacker-conductor", "tacker-server"):
            assert secret not in tacker_with_receiver.log(service)
    assert [] == holding(tacker_with_receiver, admin_secrets(workload))

    # The cluster ends: it is notified, and its credentials are revoked.
    api.done(maker, "terminate", rest_api.FORCEFUL)
    api.delete(maker)
    assert ["kubeconfig", "kubeconfig", "terminated"] == [
        message["type"].rpartition(".")[2] for message in listening.of(maker)
    ]
    assert [] == vims_of(api, data["cluster"]["uid"])
    until(lambda: refused(former) and refused(given))
    kubectl = workload.kubectl
    kubectl("delete", "namespace", f"{unique_name}-app")
    assert [] == leftovers.find_leftovers(
        workload_cluster,
        before,
        k8s_cr.Deadline.after(30),
        lambda ref: unique_name in str(ref) or "tacker-k8s-cr" in str(ref),
    )


@pytest.mark.requirement("TK-14")
def test_a_failed_delivery_is_retried_or_rolled_back(
    api,
    vim,
    site_package,
    upload,
    tmp_path,
    namespace,
    unique_name,
    workload,
    listening,
    tacker_with_receiver,
    assert_no_leftovers,
):
    """The error is one clean sentence; all that was made stays meanwhile.

    A retry delivers without creating anything again. A rollback withdraws, in
    v2, which has a hook for it.
    """
    vdus = [packages.Vdu("agent", "site-agent")]
    csar = packages.build(tmp_path, site_package, vdus, delivers=True)
    upload(csar)
    instance = api.create(csar.vnfd)
    listening.sample.keys = keys_of(OTHER)

    failed = api.run(
        instance,
        "instantiate",
        rest_api.instantiation(
            api,
            vim,
            csar.files,
            namespace=namespace,
            tacker_k8s_cr={"webhook": {"credential": "scoped"}},
        ),
    )

    assert "FAILED_TEMP" == failed["operationState"]
    detail = failed["error"]["detail"]
    assert f"{listening.url}: answered 401: no signature is valid" in detail
    assert "Traceback" not in detail
    for secret in (KEY, *admin_secrets(workload)):
        assert secret not in json.dumps(failed)
    assert [] == listening.of(instance)
    listening.sample.keys = keys_of(KEY)
    if api.version == "v1":
        assert "COMPLETED" == api.retry(failed["id"])["operationState"]
        api.done(instance, "terminate", rest_api.FORCEFUL)
        told = ["kubeconfig", "terminated"]
    else:
        assert "ROLLED_BACK" == api.rollback(failed["id"])["operationState"]
        told = ["terminated"]
    api.delete(instance)
    assert told == [
        message["type"].rpartition(".")[2]
        for message in listening.of(instance)
    ]


def admin_secrets(workload: Plane) -> list[str]:
    """The parts of the administrator's kubeconfig that are secret."""
    text = workload.folders.kubeconfig.read_text()
    [user] = yaml.safe_load(text)["users"]
    key: str = user["user"]["client-key-data"]
    return [key, base64.b64decode(key).decode(), text]


def holding(host: Host, secrets: Iterable[str]) -> list[str]:
    """The files of Tacker, its database and its queue with a secret in it."""
    wanted = [secret.encode() for secret in secrets]
    found = []
    for path in sorted(host.folders.run.rglob("*")):
        # Some come and go.
        with contextlib.suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink():
                content = path.read_bytes()
                found += [path for secret in wanted if secret in content]
    return [str(path) for path in found]


def occurrences(api: Api) -> Any:
    """Every operation as Tacker shows it."""
    return api.request_expecting(
        200, "GET", f"{api.base}/vnf_lcm_op_occs"
    ).json()


def refused(given: Kubeconfig) -> bool:
    """Whether the API server no longer takes the credential.

    It remembers for some seconds whom it knew.
    """
    with contextlib.suppress(errors.Unauthenticated):
        check_api.check(given, k8s_cr.Deadline.after(10))
        return False
    return True
