"""Processes of a host: found and ended with all that they started."""

from __future__ import annotations

import os
import pathlib
import signal
import sys

import pytest

from tools.plane import processes
from tools.plane.processes import Identity
from tools.plane.processes import Records
from tools.tacker import process_groups

PARENT = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork():
    print("ready", flush=True)
while True:
    time.sleep(60)
"""


@pytest.fixture
def leader(tmp_path: pathlib.Path):
    """A process that does not end when asked to, with a child like it."""
    log = tmp_path / "log"
    identity = processes.start(
        Records(tmp_path),
        "stand-in",
        [sys.executable, "-c", PARENT],
        {"PATH": os.environ["PATH"]},
        log,
    )
    processes.wait_ready(
        "stand-in", identity, lambda: "ready" in log.read_text(), log, 30
    )
    yield identity
    process_groups.end(identity, 0)


def test_a_group_ends_with_all_its_members(leader):
    """What does not end when asked is ended, children too."""
    before = process_groups.members(leader)
    assert leader.pid in before
    assert 2 == len(before)
    assert process_groups.memory(leader) > 0

    process_groups.end(leader, 0.1)

    assert () == process_groups.members(leader)
    assert 0 == process_groups.memory(leader)


def test_what_a_dead_leader_left_is_still_found(leader):
    """The group outlives the process that it is named for."""
    [child] = set(process_groups.members(leader)) - {leader.pid}
    os.kill(leader.pid, signal.SIGKILL)
    os.waitpid(leader.pid, 0)

    assert (child,) == process_groups.members(leader)

    process_groups.end(leader, 0)
    assert () == process_groups.members(leader)


def test_a_process_with_a_recycled_id_is_left_alone(leader):
    """Only the start time distinguishes it from the one that was started."""
    other = Identity(leader.pid, leader.begun - 1, leader.boot)

    assert () == process_groups.members(other)
    assert not process_groups.send(other, signal.SIGKILL)
    assert leader.is_alive
