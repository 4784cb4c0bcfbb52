"""Select the cluster of tests and demo, and list its missing features.

KUBECONFIG names one; unset, it is the local plane. A named cluster is used as
it is: tests of what discovery does not show there are skipped, with that
reason. The local plane has everything.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import os
import pathlib
import shutil

from tools.plane import binaries
from tools.plane import build
from tools.plane.errors import PlaneError
from tools.plane.folders import Folders
from tools.plane.kubectl import Kubectl
from tools.plane.lifecycle import Plane

NEEDED = {
    "capi": (
        "Cluster API with its kubeadm and in-memory providers",
        (
            "clusters.cluster.x-k8s.io",
            "kubeadmcontrolplanes.controlplane.cluster.x-k8s.io",
            "devclusters.infrastructure.cluster.x-k8s.io",
        ),
    ),
    "stages": (
        "kwok with the Stages of the test kinds",
        ("stages.kwok.x-k8s.io", "widgets.demo.example.org"),
    ),
}
"""A feature that a cluster may not have: its name, and its resources."""


@dataclasses.dataclass(frozen=True)
class Target:
    """A cluster to use.

    :param is_local: whether it is the local plane.
    :param from_environment: by KUBECONFIG; the user starts and ends it.
    """

    kubeconfig: pathlib.Path
    is_local: bool
    from_environment: bool = True

    @property
    def can_start(self) -> bool:
        """Whether we start it when it does not run, and then end it."""
        return self.is_local and not self.from_environment


def choose(environ: Mapping[str, str]) -> Target:
    """The cluster that KUBECONFIG names; the local plane when it is unset."""
    own = Folders.from_environ(environ).kubeconfig
    named = environ.get("KUBECONFIG", "")
    if not named:
        return Target(own, is_local=True, from_environment=False)
    if os.pathsep in named:
        raise PlaneError(
            f"KUBECONFIG names several files ({named}); name one, for "
            "instance made by kubectl config view --flatten"
        )
    path = pathlib.Path(named).expanduser().absolute()
    if not path.is_file():
        raise PlaneError(f"KUBECONFIG names {named}, which does not exist")
    if path.resolve() == own.resolve():
        return Target(own, is_local=True)
    return Target(path, is_local=False)


def missing_features(resources: Collection[str]) -> dict[str, str]:
    """Return the features missing from a server, with the evidence."""
    found = {}
    for what, (title, needed) in NEEDED.items():
        absent = [name for name in needed if name not in resources]
        if absent:
            found[what] = (
                f"the cluster has no {title}: it does not serve "
                + ", ".join(absent)
            )
    return found


def find_missing_features(target: Target) -> dict[str, str]:
    """Features missing from this cluster, according to its discovery."""
    if target.is_local:
        return {}
    done = kubectl(target).run("api-resources", "--output=name")
    # One aggregated API that is down makes it fail after it has printed
    # all the others.
    if done.returncode and not done.stdout:
        raise PlaneError(f"{target.kubeconfig}: {done.stderr.strip()}")
    return missing_features(done.stdout.split())


def kubectl(target: Target) -> Kubectl:
    """A kubectl for this cluster: from PATH, else the one that we build."""
    plane = Plane.from_environ(os.environ)
    if target.is_local:
        return plane.kubectl
    program = shutil.which("kubectl")
    if program is None:
        build.build(plane.store, [binaries.ALL["kubectl"]], plane.print_line)
        program = str(plane.store.path("kubectl"))
    # A person's kubeconfig may name helpers that need the environment.
    return Kubectl(pathlib.Path(program), target.kubeconfig, os.environ)
