"""A real Tacker, a VIM in it, and packages to upload.

TACKER_RUN names the folder of a Tacker that runs, which is used and left;
else one is started for this run of pytest, in a folder of its own. What this
room needs and cannot have is an error, never a reason to skip.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent import futures
import json
import os
import pathlib
import shutil
import tempfile
from typing import Any
import uuid

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube.protocol import Cluster
from tests import instance_objects
from tests.e2e import packages
from tests.e2e.held_vnf import CROWD
from tests.e2e.packages import Csar
from tests.e2e.packages import Vdu
from tools import leftovers
from tools.plane.kubectl import Kubectl
from tools.tacker import Host
from tools.tacker import Options
from tools.tacker.rest_api import Api
from tools.tacker.rest_api import UploadedPackage
from tools.tacker.vims import Vim

SETTINGS = (
    # v1 does not accept a cancel of an operation earlier than this.
    ("vnf_lcm.operation_timeout", "3"),
    # tacker-server holds a connection for each request until its memory is
    # cleaned up, and v1 one for each operation; the usual number is 55.
    ("database.max_overflow", "300"),
)


FOLDERS = "E2E_FOLDERS"
"""Names the folder with the Tackers that a run of pytest has started."""

_FOLDERS = pytest.StashKey[pathlib.Path]()


def pytest_sessionstart(session: pytest.Session) -> None:
    """One folder for all workers: an interrupt gives them no time to end."""
    if FOLDERS not in os.environ:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tacker-e2e-"))
        session.config.stash[_FOLDERS] = folder
        os.environ[FOLDERS] = str(folder)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End what the workers were not able to."""
    if folder := session.config.stash.get(_FOLDERS, None):
        del os.environ[FOLDERS]
        for run in folder.glob("*/run"):
            Host.from_folder(run).down()
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def skip_or_fail() -> Callable[[str, str], None]:
    """Whatever is missing, a test of this suite fails."""

    def _lack(what: str, reason: str) -> None:
        pytest.fail(f"{what} is needed, but {reason}", pytrace=False)

    return _lack


# -- Tacker -------------------------------------------------------------------


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The Tacker of this run, with the project as the tree has it."""
    worker = tmp_path_factory.getbasetemp().name
    folder = pathlib.Path(os.environ[FOLDERS]) / worker / "run"
    found = Host.from_folder(os.environ.get("TACKER_RUN", "") or folder)
    started = found.up(Options(settings=SETTINGS))
    if not started:
        found.reload()
    yield found
    if started:
        found.down()


@pytest.fixture(autouse=True)
def _search_own_log_lines(
    request: pytest.FixtureRequest,
) -> Iterator[None]:
    """Search what we log in Tacker's processes; it speaks for itself."""
    if "host" not in request.fixturenames:
        yield
        return
    host = request.getfixturevalue("host")
    shows = request.getfixturevalue("secret_search")
    since = {name: host.logged(name) for name in host.table}
    yield
    for name, start in since.items():
        lines = [
            line
            for line in host.log(name, start).splitlines()
            if "tacker_k8s_cr" in line
        ]
        shows.search(f"our lines of {name}", "\n".join(lines))


@pytest.fixture(scope="session")
def v1(host: Host) -> Iterator[Api]:
    """Tacker's API, version 1."""
    api = Api(host.url, "v1")
    yield api
    api.close()


@pytest.fixture(scope="session")
def v2(host: Host) -> Iterator[Api]:
    """Tacker's API, version 2."""
    api = Api(host.url, "v2")
    yield api
    api.close()


# -- The VIM ------------------------------------------------------------------


@pytest.fixture(scope="session")
def administrator(kubectl: Kubectl) -> Iterator[Vim]:
    """The cluster, for a ServiceAccount that may do everything there."""
    name = f"e2e-{uuid.uuid4().hex[:10]}"
    account = f"{name}:vnfm"
    kubectl("create", "namespace", name)
    kubectl("create", "serviceaccount", "vnfm", "-n", name)
    kubectl(
        "create",
        "clusterrolebinding",
        name,
        "--clusterrole=cluster-admin",
        f"--serviceaccount={account}",
    )
    token = kubectl("create", "token", "vnfm", "-n", name, "--duration=24h")
    view = json.loads(
        kubectl("config", "view", "--raw", "--minify", "--flatten", "-o=json")
    )
    cluster = view["clusters"][0]["cluster"]
    authority = cluster.get("certificate-authority-data", "")
    yield Vim(
        cluster["server"],
        base64.b64decode(authority).decode(),
        {"bearer_token": token.strip()},
    )
    kubectl("delete", "clusterrolebinding", name)
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="session")
def vim(host: Host, v1: Api, administrator: Vim) -> Vim:
    """The cluster, as a VIM that is registered in Tacker."""
    default = not any(vim["is_default"] for vim in v1.vims())
    # It stays in Tacker: instances of failed tests may name it still.
    return v1.register_vim(administrator, default=default)


@pytest.fixture(scope="session")
def cluster(kubeconfig: pathlib.Path) -> Iterator[Cluster]:
    """The same cluster, for reads past Tacker."""
    connected = k8s_cr.connect(kubeconfig=str(kubeconfig))
    yield connected
    connected.close()


# -- Packages -----------------------------------------------------------------


@pytest.fixture
def unique_name() -> str:
    """A unique name."""
    return f"t{uuid.uuid4().hex[:10]}"


@pytest.fixture
def build_sample(
    tmp_path: pathlib.Path, unique_name: str
) -> Callable[..., Csar]:
    """The CSAR of a sample; its kinds have a group of the test's own."""

    def build(
        name: str, replaced: Mapping[str, str] | None = None, **options: str
    ) -> Csar:
        group = {"telephony.example.org": f"{unique_name}.example.org"}
        return packages.build_sample(
            name, tmp_path, {**group, **(replaced or {})}, **options
        )

    return build


@pytest.fixture
def make_package(tmp_path: pathlib.Path, v2: Api) -> Callable[..., Csar]:
    """Build and upload a package of these manifests, for both APIs."""

    def build(*manifests: Mapping[str, Any], vdus: Sequence[Vdu] = ()) -> Csar:
        csar = packages.build(tmp_path, {"a.yaml": manifests}, vdus)
        v2.upload(csar.path)
        return csar

    return build


@pytest.fixture
def upload(v1: Api) -> Callable[[Csar], UploadedPackage]:
    """Uploads a CSAR; both APIs know it then."""
    return lambda csar: v1.upload(csar.path)


# -- Many at once -------------------------------------------------------------


@pytest.fixture
def namespaces(kubectl: Kubectl, unique_name: str) -> Iterator[list[str]]:
    """One for each instance: the objects of all have the same names."""
    names = [f"{unique_name}-{number}" for number in range(CROWD)]
    kubectl.apply(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"crowd": unique_name}},
        }
        for name in names
    )
    yield names
    kubectl(
        "delete", "namespace", "-l", f"crowd={unique_name}", "--wait=false"
    )


@pytest.fixture
def thread_pool() -> Iterator[futures.Executor]:
    """Requests at once; the API is asked by as many clients."""
    with futures.ThreadPoolExecutor(8) as executor:
        yield executor


# -- What is left -------------------------------------------------------------


@pytest.fixture
def assert_no_leftovers(
    cluster: Cluster, namespace: str, unique_name: str
) -> Iterator[None]:
    """Afterwards the cluster holds nothing that it did not hold before.

    Of what is in no namespace, or in another one, that counts which bears
    the test's unique name: other tests may be at work in this cluster.
    """
    before = leftovers.take_snapshot(cluster)
    yield
    found = leftovers.find_leftovers(
        cluster,
        before,
        k8s_cr.Deadline.after(30),
        lambda ref: namespace in ref.namespace or unique_name in str(ref),
    )
    assert [] == found


@pytest.fixture
def leftover_objects(cluster: Cluster) -> Callable[[str], list[str]]:
    """An instance's objects in the cluster: managed ones, its record."""
    return lambda instance: instance_objects.find_instance_objects(
        cluster, instance
    )
