"""An empty cluster whose node is real, and the package for it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import os
import pathlib

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube.protocol import Cluster
from tools import leftovers
from tools.leftovers import Snapshot
from tools.management import images
from tools.management import package_folder
from tools.plane import host_cleanup
from tools.plane import node
from tools.plane.binaries import Store
from tools.plane.folders import Folders
from tools.plane.lifecycle import Plane

SHIFT = 5000
"""Of the ports of this suite's control plane, from those of the usual one."""

HOME = "site"
"""The namespace of the record, and of what names no other."""


@pytest.fixture(scope="module")
def plane(
    tmp_path_factory: pytest.TempPathFactory,
    skip_or_fail: Callable[[str, str], None],
) -> Iterator[Plane]:
    """A control plane with nothing but a real node, which has the images."""
    if os.getuid():
        skip_or_fail(
            "root", "a real node needs root, and this user is not root"
        )
    if missing := host_cleanup.packages_missing():
        skip_or_fail(
            "root",
            "a real node needs Debian packages that are not installed: "
            f"{' '.join(missing)}; python -m tools.plane node install",
        )
    folders = Folders(tmp_path_factory.mktemp("plane") / "run", SHIFT)
    plane = Plane(folders, Store.from_environ(os.environ), print)
    plane.up(["control plane"])
    try:
        node.up(plane)
        images.add(plane, print)
        plane.kubectl("create", "namespace", HOME)
        yield plane
    finally:
        node.down(plane)
        plane.down()


@pytest.fixture(scope="module")
def cluster(plane: Plane) -> Iterator[Cluster]:
    """That cluster, as its administrator."""
    connected = k8s_cr.connect(kubeconfig=str(plane.folders.kubeconfig))
    yield connected
    connected.close()


@pytest.fixture(scope="module")
def folder(
    plane: Plane, tmp_path_factory: pytest.TempPathFactory
) -> pathlib.Path:
    """The whole package, as an author would read it."""
    out = tmp_path_factory.mktemp("package") / package_folder.SAMPLE.name
    return package_folder.compose(out, plane.store, print)


@pytest.fixture
def before(cluster: Cluster) -> Snapshot:
    """All that is in the cluster when the test begins."""
    return leftovers.take_snapshot(cluster)
