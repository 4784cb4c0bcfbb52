"""A plane of its own, from the start to the end.

As root it runs in a network namespace, beside any other; else the ports
must be free.
"""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys

import pytest

from tools.plane import processes
from tools.plane.errors import PlaneError

pytestmark = pytest.mark.cycle

ROOT = pathlib.Path(__file__).resolve().parents[2]


def processes_of(plane):
    """The processes that have a file of this plane's folder as argument."""
    found = set()
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_text()
        except OSError:
            continue
        if f"{plane.folders.run}/" in words:
            found.add(words.replace("\0", " "))
    return found


def test_the_plane_starts_and_stops(own_ports):
    """All answer when up returns; after down no process and no file."""
    plane = own_ports

    assert plane.up()

    assert () == plane.unavailable(["control plane", "kwok", "cluster api"])
    assert processes_of(plane)
    assert not plane.up()
    assert 3 == len(plane.kubectl.json("get", "nodes")["items"])

    assert plane.down()

    assert set() == processes_of(plane)
    assert not plane.folders.run.exists()
    assert not plane.down()


def test_what_crashed_is_started_again(own_ports):
    """Up starts only what is missing; the others are not touched."""
    plane = own_ports
    plane.up(["control plane"])
    scheduler, etcd = (
        plane.records[name] for name in ("kube-scheduler", "etcd")
    )
    os.kill(scheduler.pid, signal.SIGKILL)
    processes.stop(scheduler)

    assert ["kube-scheduler"] == [
        one.name for one in plane.unavailable(["control plane"])
    ]
    assert plane.up(["control plane"])

    assert etcd == plane.records["etcd"]
    assert () == plane.unavailable(["control plane"])


def test_one_process_is_stopped_and_started(own_ports):
    """The others go on; the data are there afterwards."""
    plane = own_ports
    plane.up(["control plane"])
    plane.kubectl("create", "namespace", "kept")

    plane.stop(["kube-apiserver"])
    assert plane.records["kube-apiserver"] is None
    plane.start(["kube-apiserver"])

    assert plane.kubectl("get", "namespace", "kept")
    with pytest.raises(PlaneError, match="no component nonsense"):
        plane.stop(["nonsense"])


def test_data_may_be_kept_for_the_next_start(own_ports):
    """Down with keep leaves data and credentials."""
    plane = own_ports
    plane.up(["control plane"])
    plane.kubectl("create", "namespace", "kept")
    kubeconfig = plane.folders.kubeconfig.read_bytes()

    plane.down(keep=True)
    plane.up(["control plane"])

    assert plane.kubectl("get", "namespace", "kept")
    assert kubeconfig == plane.folders.kubeconfig.read_bytes()


def test_a_ctrl_c_leaves_nothing_running(own_ports):
    """Whatever had been started is ended; the logs stay for who looks."""
    plane = own_ports
    command = [sys.executable, "-m", "tools.plane", "up"]
    environ = {**os.environ, "PLANE_RUN": str(plane.folders.run)}

    with subprocess.Popen(
        command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True
    ) as process:
        assert "etcd: ready" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdout.read()

    assert 130 == process.returncode
    assert set() == processes_of(plane)
    assert () == plane.records.names()
    assert plane.folders.log("etcd").exists()


def test_a_component_that_cannot_start_stops_the_others(own_ports):
    """The error shows its log, and nothing stays running."""
    plane = own_ports
    plane.folders.make()
    # A file where etcd wants a folder.
    plane.folders.etcd.touch()

    with pytest.raises(
        PlaneError, match=r"(?s)etcd ended while starting.*log"
    ):
        plane.up(["control plane"])

    assert set() == processes_of(plane)


def test_down_removes_a_failed_start(own_ports):
    """Down removes the folder in whatever state it is."""
    plane = own_ports
    plane.folders.make()

    assert not plane.down()

    assert not plane.folders.run.exists()
