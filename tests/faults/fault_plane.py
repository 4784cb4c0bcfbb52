"""A control plane of the faults' own, and a proxy before it."""

from __future__ import annotations

from collections.abc import Iterator
import os
import uuid

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube.protocol import Cluster
from tests.functional import manifests
from tools.fault_proxy.proxy import FaultProxy
from tools.plane import credentials
from tools.plane.binaries import Store
from tools.plane.folders import Folders
from tools.plane.lifecycle import Plane

SHIFT, APART = 3000, 200
"""Of its ports, from those of the usual plane, and of another worker's."""

SECONDS = 60.0


@pytest.fixture(scope="session")
def fault_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A control plane with kwok, whose processes a test may kill.

    Each of several workers has one, as far as it needs one.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    shift = SHIFT + APART * int(worker.removeprefix("gw"))
    folders = Folders(tmp_path_factory.mktemp("own") / "plane", shift=shift)
    folders.make()
    plane = Plane(folders, Store.from_environ(os.environ), lambda said: None)
    plane.up(("control plane", "kwok"))
    yield plane
    plane.down()


@pytest.fixture(scope="session")
def admin_token(fault_plane: Plane) -> str:
    """Of its administrator."""
    return credentials.token(fault_plane.folders, "admin-token")


@pytest.fixture
def direct_cluster(fault_plane: Plane) -> Iterator[Cluster]:
    """Its API server, without a proxy."""
    cluster = k8s_cr.connect(str(fault_plane.folders.kubeconfig))
    yield cluster
    cluster.close()


@pytest.fixture(scope="session")
def faults(
    fault_plane: Plane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FaultProxy]:
    """A proxy before its API server, with configured faults."""
    folders = fault_plane.folders
    folder = tmp_path_factory.mktemp("faults") / "proxy"
    server, ca = credentials.server(folders), folders.pki / "ca.crt"
    with FaultProxy(folder, server, ca) as proxy:
        yield proxy


@pytest.fixture
def two_namespaces(direct_cluster: Cluster) -> Iterator[list[str]]:
    """Two namespaces for two instances; they go afterwards."""
    names = [f"f{uuid.uuid4().hex[:8]}" for _ in range(2)]
    cluster = direct_cluster.with_deadline(k8s_cr.Deadline.after(SECONDS))
    made = [
        cluster.create(manifests.namespace(name), "tests") for name in names
    ]
    yield names
    brief = direct_cluster.with_deadline(k8s_cr.Deadline.after(SECONDS))
    for obj in made:
        ref = k8s_cr.ObjectRef.of(obj)
        brief.delete(ref, obj["metadata"]["uid"])
