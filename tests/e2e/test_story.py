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
from tacker_k8s_cr import errors
from tacker_k8s_cr.cluster import probe
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.kubeconfig import Kubeconfig
from tacker_k8s_cr.objects import ObjectRef
from tests import hosted as hosting
from tests.e2e import packages
from tools import leftovers
from tools import receiver as receivers
from tools.plane.kubectl import Kubectl
from tools.plane.lifecycle import Plane
from tools.tacker import Host
from tools.tacker import rest
from tools.tacker.rest import Api
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
    """A second control plane with nodes, which knows nothing of the first."""
    with hosting.plane(tmp_path_factory.mktemp("workload"), SHIFT) as plane:
        yield plane


@pytest.fixture(scope="module")
def inside(workload: Plane) -> Iterator[Cluster]:
    """The workload cluster, as its administrator."""
    connected = k8s_cr.connect(kubeconfig=str(workload.folders.kubeconfig))
    yield connected
    connected.close()


@pytest.fixture(scope="module")
def hosted(kubectl: Kubectl) -> None:
    """The kinds of a cluster that runs already; a plane of ours has them."""
    hosting.known(kubectl)


@dataclasses.dataclass
class Listening:
    """The sample receiver, and what it was told."""

    sample: Receiver
    url: str
    ca_file: pathlib.Path
    told: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def of(self, instance: str) -> list[dict[str, Any]]:
        """What it was told about an instance, in order."""
        return [
            message
            for message in self.told
            if message["data"]["vnfInstanceId"] == instance
        ]


class Noting(Receiver):
    """The sample, which keeps what it takes."""

    def take(self, headers: Any, body: bytes) -> str:
        done = super().take(headers, body)
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
    certificate = receivers.certificate(folder, ca_file)
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
def telling(
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
        # So that what the request says is seen to be remembered.
        "webhook_mode": "admin",
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
def api(request: pytest.FixtureRequest, telling: Host) -> Api:
    """Tacker's API, in both versions."""
    found: Api = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def site(
    cluster: Cluster,
    workload: Plane,
    hosted: None,
    namespace: str,
    unique: str,
) -> dict[str, list[dict[str, Any]]]:
    """The manifests of the first package; the cluster's Secret is there."""
    cluster.create(hosting.secret(unique, namespace, workload), "provider")
    return {
        "cluster.yaml": hosting.manifests(unique, SHIFT),
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


def test_a_cluster_is_made_and_used_and_ends(
    api,
    vim,
    site,
    sample,
    uploaded,
    tmp_path,
    namespace,
    unique,
    inside,
    workload,
    listening,
    telling,
    nothing_left,
):
    """Package, cluster, credential, VIM, second package, and the way back.

    (TK-9, TK-12, TK-13, TK-14, TK-15, TK-19, TK-24)
    """
    before = leftovers.snapshot(inside)
    vdus = [packages.Vdu("agent", "site-agent")]
    first = packages.of(tmp_path, site, vdus, delivers=True)
    second = sample("custom_resource")
    uploaded(first)
    uploaded(second)

    # The first package brings the cluster; its credential is delivered.
    maker = api.create(first.vnfd)
    delivery = {"webhook": {"mode": "scoped"}}
    api.done(
        maker,
        "instantiate",
        rest.instantiation(
            api,
            vim,
            first.files,
            namespace=namespace,
            tacker_k8s_cr=delivery,
        ),
    )
    [issued] = listening.of(maker)
    data = issued["data"]
    assert ("scoped", unique, True) == (
        data["mode"],
        data["cluster"]["name"],
        data["vimRegistrable"],
    )

    # The receiver made a VIM of it.
    [made] = vims_of(api, data["cluster"]["uid"])
    assert f"https://127.0.0.1:{PORT}" == made.endpoint

    # What happens to the instance later tells it nothing new.
    api.done(maker, "scale", rest.scaling("agent", 1))
    api.done(maker, "heal", rest.healing())
    if api.version == "v2":
        newer = packages.of(tmp_path, site, vdus, version="2.0", delivers=True)
        uploaded(newer)
        body = rest.changing(newer.vnfd, newer.files, ["agent"])
        api.done(maker, "change_vnfpkg", body)
    assert [issued] == listening.of(maker)

    # Unless a new credential is asked for: the VIM gets it.
    renewal = {"webhook": {"renew": True}}
    api.done(maker, "heal", rest.healing(tacker_k8s_cr=renewal))
    [_, renewed] = listening.of(maker)
    former, given = credential(issued), credential(renewed)
    assert former.token != given.token
    assert [made] == vims_of(api, data["cluster"]["uid"])

    # The second package is put on the new cluster.
    user = api.create(second.vnfd)
    body = rest.instantiation(
        api, vim, second.files, namespace=f"{unique}-app"
    )
    inside.create(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": f"{unique}-app"},
        },
        "t",
    )
    body["vimConnectionInfo"] = connection(api, made)
    api.done(user, "instantiate", body)
    router = ObjectRef("apps", "Deployment", f"{unique}-app", "call-router")
    plan = ObjectRef(
        f"{unique}.example.org", "DialPlan", f"{unique}-app", "default"
    )
    assert inside.get(plan)
    assert 1 == inside.get(router)["status"]["availableReplicas"]
    api.done(user, "scale", rest.scaling("routers", 2))
    assert 3 == inside.get(router)["status"]["availableReplicas"]
    assert 3 == len(api.vnfcs(user))
    api.done(user, "terminate", rest.FORCEFUL)
    assert None is inside.get(router)
    api.delete(user)

    # No secret is where one looks.
    planted = [former.token, given.token, *admin_secrets(workload)]
    shown = json.dumps([api.show(maker), occurrences(api)])
    for secret in planted:
        assert secret not in shown
        for service in ("tacker-conductor", "tacker-server"):
            assert secret not in telling.log(service)
    assert [] == holding(telling, admin_secrets(workload))

    # The cluster ends: it is told, and what was given out is revoked.
    api.done(maker, "terminate", rest.FORCEFUL)
    api.delete(maker)
    assert ["kubeconfig", "kubeconfig", "terminated"] == [
        message["type"].rpartition(".")[2] for message in listening.of(maker)
    ]
    assert [] == vims_of(api, data["cluster"]["uid"])
    until(lambda: refused(former) and refused(given))
    kubectl = workload.kubectl
    kubectl("delete", "namespace", f"{unique}-app")
    assert [] == leftovers.remaining(
        inside,
        before,
        k8s_cr.Deadline.after(30),
        lambda ref: unique in str(ref) or "tacker-k8s-cr" in str(ref),
    )


def test_a_delivery_that_fails_is_repeated_or_taken_back(
    api,
    vim,
    site,
    uploaded,
    tmp_path,
    namespace,
    unique,
    workload,
    listening,
    telling,
    nothing_left,
):
    """The error is one clean sentence; all that was made stays meanwhile.

    A retry delivers without making anything anew. A rollback withdraws, in
    v2, which has a hook for it. (TK-14, TK-19)
    """
    vdus = [packages.Vdu("agent", "site-agent")]
    csar = packages.of(tmp_path, site, vdus, delivers=True)
    uploaded(csar)
    instance = api.create(csar.vnfd)
    listening.sample.keys = keys_of(OTHER)

    failed = api.run(
        instance,
        "instantiate",
        rest.instantiation(
            api,
            vim,
            csar.files,
            namespace=namespace,
            tacker_k8s_cr={"webhook": {"mode": "scoped"}},
        ),
    )

    assert "FAILED_TEMP" == failed["operationState"]
    detail = failed["error"]["detail"]
    assert f"{listening.url}: answered 401: no signature is right" in detail
    assert "Traceback" not in detail
    for secret in (KEY, *admin_secrets(workload)):
        assert secret not in json.dumps(failed)
    assert [] == listening.of(instance)
    listening.sample.keys = keys_of(KEY)
    if api.version == "v1":
        assert "COMPLETED" == api.retry(failed["id"])["operationState"]
        api.done(instance, "terminate", rest.FORCEFUL)
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
    """What of the administrator's kubeconfig nobody must see."""
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
    return api.wanted(200, "GET", f"{api.base}/vnf_lcm_op_occs").json()


def refused(given: Kubeconfig) -> bool:
    """Whether the API server no longer takes the credential.

    It remembers for some seconds whom it knew.
    """
    with contextlib.suppress(errors.Unauthenticated):
        probe.probe(given, k8s_cr.Deadline.after(10))
        return False
    return True
