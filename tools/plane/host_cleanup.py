"""What a real node leaves on the machine, and taking it away again."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import time

from tools.plane import processes
from tools.plane.errors import PlaneError
from tools.plane.processes import Identity

PACKAGES = {
    "runc": "runc",
    "nft": "nftables",
    "conntrack": "conntrack",
    "ip": "iproute2",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "/bin/busybox": "busybox-static",
}
"""What must be there, and the Debian package that brings it."""

SETTINGS = (
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "kernel/panic",
    "kernel/panic_on_oops",
    "net/ipv4/conf/all/route_localnet",
    "net/ipv4/ip_forward",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
)
"""Settings of the kernel that kubelet, kube-proxy or the bridge change."""

FOLDERS = (
    "/opt/cni",
    "/run/containerd",
    "/var/lib/cni",
    "/var/lib/kubelet",
    "/var/log/containers",
)
"""Folders that some of them make outside of those that they are given."""

TABLES = (("ip", "kube-proxy"), ("ip6", "kube-proxy"))
"""Of nftables; kube-proxy's."""

_CONTAINERS = "k8s.io"
"""Where containerd puts control groups when a kubelet names no place."""

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def packages_missing() -> tuple[str, ...]:
    """The Debian packages without which no node can start."""
    return tuple(
        sorted(
            package
            for what, package in PACKAGES.items()
            if not shutil.which(what, path=_PATH)
        )
    )


def install(packages: Collection[str]) -> None:
    """Let the distribution install packages."""
    if os.getuid():
        raise PlaneError("installing packages needs root")
    if not shutil.which("apt-get"):
        raise PlaneError(
            "there is no apt-get; install what these Debian packages hold: "
            + ", ".join(packages)
        )
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "--quiet"],
        ["apt-get", "install", "--yes", "--no-install-recommends", *packages],
    ):
        if subprocess.run(command, env=environ).returncode:
            raise PlaneError(f"{' '.join(command)} failed")


# -- Settings and folders -----------------------------------------------------


def settings() -> dict[str, str]:
    """The kernel's settings now; those that it has not are left out."""
    found = {}
    for name in SETTINGS:
        with contextlib.suppress(OSError):
            found[name] = _setting(name).read_text().strip()
    return found


def restore(before: Mapping[str, str]) -> None:
    """Give the settings the values that they had."""
    for name, value in before.items():
        if settings().get(name) != value:
            _setting(name).write_text(value)


def _setting(name: str) -> pathlib.Path:
    return pathlib.Path("/proc/sys") / name


def folders() -> tuple[str, ...]:
    """Those of the folders that are there now."""
    return tuple(name for name in FOLDERS if os.path.isdir(name))


def remove_folders(before: Collection[str]) -> None:
    """Remove those that did not exist before."""
    for name in folders():
        if name not in before:
            shutil.rmtree(name)


# -- Network ------------------------------------------------------------------


def link_exists(name: str) -> bool:
    # Not from /sys, which may show another network namespace than this one.
    return name in (found for _, found in socket.if_nameindex())


def add_bridge(name: str, address: str) -> None:
    """A bridge with an address, up."""
    run("ip", "link", "add", name, "type", "bridge")
    run("ip", "address", "add", address, "dev", name)
    run("ip", "link", "set", name, "up")


def remove_link(name: str) -> None:
    if link_exists(name):
        run("ip", "link", "delete", name)


def tables() -> frozenset[tuple[str, str]]:
    """The tables of nftables, as family and name."""
    lines = run("nft", "list", "tables").splitlines()
    found = (line.split() for line in lines)
    return frozenset((words[1], words[2]) for words in found if len(words) > 2)


def remove_tables() -> None:
    for family, name in tables() & frozenset(TABLES):
        run("nft", "delete", "table", family, name)


# -- Mounts -------------------------------------------------------------------


def mounts(below: pathlib.Path, table: str | None = None) -> tuple[str, ...]:
    """Mount points below a folder, the innermost first."""
    if table is None:
        table = pathlib.Path("/proc/self/mountinfo").read_text()
    points = [
        line.split()[4].encode().decode("unicode_escape")
        for line in table.splitlines()
    ]
    # In the order of mounting, so that the uppermost is unmounted first.
    return tuple(
        point
        for point in reversed(points)
        if pathlib.Path(point).is_relative_to(below)
    )


def unmount(below: pathlib.Path) -> None:
    """Unmount all that is mounted below a folder."""
    for point in mounts(below):
        # A container that has just ended takes its own mounts away.
        with contextlib.suppress(PlaneError):
            run("umount", "--lazy", point)
    if left := mounts(below):
        raise PlaneError(f"still mounted: {', '.join(left)}")


# -- Processes and cgroups ----------------------------------------------------


def shims(address: pathlib.Path) -> Iterator[Identity]:
    """The processes by which this containerd keeps containers."""
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_text().split("\0")
        except OSError:
            continue
        name = pathlib.PurePath(words[0]).name
        ours = name.startswith("containerd-shim") and str(address) in words
        if ours and (identity := Identity.of(int(path.name))):
            yield identity


def cgroups() -> tuple[pathlib.Path, ...]:
    """The control groups of containers, the innermost first.

    Version 1 has a tree for each controller, version 2 has one tree.
    """
    base = pathlib.Path("/sys/fs/cgroup")
    return tuple(
        pathlib.Path(folder)
        for root in (*base.glob(_CONTAINERS), *base.glob(f"*/{_CONTAINERS}"))
        for folder, _, _ in os.walk(root, topdown=False)
    )


def remove_cgroups(before: Collection[str]) -> None:
    """End what runs in those that did not exist before; remove them."""
    found = [path for path in cgroups() if str(path) not in before]
    pids = {
        int(pid)
        for folder in found
        for pid in (folder / "cgroup.procs").read_text().split()
    }
    for pid in pids:
        if identity := Identity.of(pid):
            processes.stop(identity, patience=1)
    for folder in found:
        _remove_cgroup(folder)


def _remove_cgroup(folder: pathlib.Path, seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while folder.exists():
        try:
            folder.rmdir()
        except OSError:
            # Busy until the kernel is done with who was in it.
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def run(*command: str) -> str:
    """What a command of the system prints; its own words when it fails."""
    done = subprocess.run(
        command, capture_output=True, text=True, env={"PATH": _PATH}
    )
    if done.returncode:
        raise PlaneError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
