"""What is built, from which package of which module, and where it lies."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import hashlib
import os
import pathlib
import platform

from tools.plane import modules

ENVIRON = {
    "CGO_ENABLED": "0",
    # The Go that we chose builds; it fetches no other one.
    "GOTOOLCHAIN": "local",
    "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",
    "GOWORK": "off",
}


@dataclasses.dataclass(frozen=True)
class Binary:
    """A command of a Go module.

    :param stamp: what the linker writes into the command.
    :param estimate: seconds for two cores and an empty build cache.
    """

    name: str
    module: str
    package: str
    estimate: float
    stamp: str = "-s -w"


def _kubernetes() -> str:
    # Without a stamp the server calls itself v0.0.0-master, and Cluster API
    # refuses to work with so old a one.
    version = modules.required(modules.text("kube"), "k8s.io/kubernetes")
    major, minor, _ = version.lstrip("v").split(".", 2)
    values = {
        "gitVersion": version,
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
        "gitCommit": "modules",
    }
    return "-s -w " + " ".join(
        f"-X k8s.io/component-base/version.{name}={value}"
        for name, value in values.items()
    )


def _cluster_api() -> str:
    path = "sigs.k8s.io/cluster-api"
    version = modules.required(modules.text("capi"), path)
    return f"-s -w -X {path}/version.gitVersion={version}"


def _kube(name: str, estimate: float) -> Binary:
    package = f"k8s.io/kubernetes/cmd/{name}"
    return Binary(name, "kube", package, estimate, _kubernetes())


def _capi(name: str, package: str, estimate: float) -> Binary:
    package = f"sigs.k8s.io/cluster-api/{package}"
    return Binary(name, "capi", package, estimate, _cluster_api())


def _containerd(name: str, estimate: float) -> Binary:
    package = f"github.com/containerd/containerd/v2/cmd/{name}"
    return Binary(name, "containerd", package, estimate)


CONTROL_PLANE = (
    Binary("etcd", "kube", "go.etcd.io/etcd/server/v3", 36),
    _kube("kube-apiserver", 154),
    _kube("kubectl", 17),
    _kube("kube-controller-manager", 45),
    _kube("kube-scheduler", 4),
)
KWOK = (Binary("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", 52),)
CLUSTER_API = (
    _capi("capi-core", "core", 84),
    _capi("capi-bootstrap", "bootstrap/kubeadm", 4),
    _capi("capi-control-plane", "controlplane/kubeadm", 7),
    _capi("capi-dev", "test/infrastructure/docker", 27),
)
NODE = (
    _kube("kubelet", 20),
    _kube("kube-proxy", 7),
    _containerd("containerd", 30),
    _containerd("ctr", 6),
    _containerd("containerd-shim-runc-v2", 6),
)
EXTRA = (_capi("clusterctl", "cmd/clusterctl", 20),)
"""Not needed to run the plane; for users who inspect the plane with them."""

ALL: Mapping[str, Binary] = {
    binary.name: binary
    for binary in (*CONTROL_PLANE, *KWOK, *CLUSTER_API, *NODE, *EXTRA)
}


def key(files: Iterable[tuple[str, bytes]], table: Iterable[Binary]) -> str:
    """A name for all that decides what the binaries are."""
    digest = hashlib.sha256()

    def add(part: bytes) -> None:
        digest.update(len(part).to_bytes(8, "big") + part)

    for name, content in sorted(files):
        add(name.encode())
        add(content)
    for binary in sorted(table, key=lambda binary: binary.name):
        add("\0".join([binary.name, binary.package, binary.stamp]).encode())
    for name, value in sorted(ENVIRON.items()):
        add(f"{name}={value}".encode())
    add(platform.machine().encode())
    return digest.hexdigest()[:16]


def cache(environ: Mapping[str, str]) -> pathlib.Path:
    """The project's part of the user's cache folder."""
    base = environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "tacker-k8s-cr" / "plane"


@dataclasses.dataclass(frozen=True)
class Store:
    """The folder in which the binaries of one set of modules lie."""

    folder: pathlib.Path

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Store:
        files = [
            (f"{name}/{part}", (modules.FOLDER / name / part).read_bytes())
            for name in modules.NAMES
            for part in ("go.mod", "go.sum")
        ]
        return cls(cache(environ) / key(files, ALL.values()))

    @property
    def times(self) -> pathlib.Path:
        """How long each took last time, whatever the modules were then."""
        return self.folder.parent / "times.json"

    @property
    def manifests(self) -> pathlib.Path:
        """What the modules bring as YAML."""
        return self.folder / "manifests"

    def path(self, name: str) -> pathlib.Path:
        return self.folder / name

    def missing(self, wanted: Iterable[Binary]) -> tuple[Binary, ...]:
        return tuple(
            binary
            for binary in wanted
            if not os.access(self.path(binary.name), os.X_OK)
        )
