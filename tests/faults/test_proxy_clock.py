"""The time of day jumps while a process works.

Operations reckon with a clock that does not. They run as the program does,
in processes whose time of day libfaketime moves.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

from tacker_k8s_cr.cluster.protocol import Listed
from tacker_k8s_cr.cluster.protocol import Watch
from tacker_k8s_cr.deadline import Deadline
from tests.faults import lives

pytestmark = pytest.mark.plane

PROGRAM = [sys.executable, "-m", "tacker_k8s_cr.cli.shell"]
SECONDS = 180.0


@pytest.fixture(scope="module")
def faketime(tmp_path_factory, request):
    """The library; Debian's package is enough, unpacked."""
    name = "faketime/libfaketimeMT.so.1"
    places = [pathlib.Path("/usr/lib")]
    folder = tmp_path_factory.mktemp("faketime")
    if not list(places[0].glob(f"**/{name}")):
        places = [folder]
        with contextlib.suppress(OSError):
            for command in (
                ["apt-get", "download", "libfaketime"],
                ["sh", "-c", "dpkg -x libfaketime*.deb ."],
            ):
                subprocess.run(command, cwd=folder, capture_output=True)
    found = [path for place in places for path in place.glob(f"**/{name}")]
    if not found:
        pytest.skip("libfaketime is not installed, nor can be downloaded")
    return found[0]


class Jumping:
    """Runs the program, and lets the time of day jump while it waits."""

    def __init__(self, folder, library, kubeconfig, straight):
        self._folder = folder
        self._moved = folder / "moved"
        self._straight = straight
        self._environ = {
            **os.environ,
            "KUBECONFIG": str(kubeconfig),
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._moved),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }

    def run(self, life, operation, jump):
        """What the program said; empty where all went well."""
        path = self._folder / f"{life.name}.yaml"
        given = life.wanted(operation)
        path.write_text("\n---\n".join(json.dumps(m) for m in given))
        self._moved.write_text("+0")
        named = [life.name, *([str(path)] if given else [])]
        process = subprocess.Popen(
            [
                *(*PROGRAM, operation, *named),
                *("--namespace", life.namespace, "--timeout", "170s"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environ,
        )
        try:
            self._wait(life, operation, process)
            self._moved.write_text(jump)
            said, _ = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
        return said if process.returncode else ""

    def _wait(self, life, operation, process):
        """Until the Widget is asked for, or asked to go; or it ended."""
        limit = Deadline.after(SECONDS)
        watch = Watch(lives.WIDGETS, life.namespace, "")
        with self._straight.until(limit).watching([watch]) as watching:
            while not limit.passed and process.poll() is None:
                for found in watching.take(1.0):
                    listed = isinstance(found, Listed)
                    objs = found.objs if listed else (found.obj,)
                    if any(_reached(obj, operation) for obj in objs):
                        return


def _reached(obj, operation):
    metadata = obj["metadata"]
    if operation == "terminate":
        return "deletionTimestamp" in metadata
    version = metadata.get("annotations", {}).get("version")
    return version == {"instantiate": "1", "change": "2"}[operation]


@pytest.mark.parametrize("jump", ["+3600", "-3600"])
def test_the_time_of_day_jumps(
    jump, faketime, own_plane, straight, own_namespaces, table, tmp_path
):
    """By an hour, either way: no operation ends early or late (P25)."""
    begin = time.monotonic()
    jumping = Jumping(
        tmp_path, faketime, own_plane.folders.kubeconfig, straight
    )
    life = lives.begun(own_namespaces[0], "slow")
    outcome = lives.Outcome(f"clock jumps by {jump} s")

    for operation in lives.OPERATIONS:
        outcome.tried += 1
        said = jumping.run(life, operation, jump)
        if said:
            outcome.said.append(f"{operation}: {said}")
            lives.again(life, operation, straight)
            outcome.recovered += 1
        else:
            outcome.finished += 1
        lives.compare(outcome, life, operation, straight)

    outcome.seconds = time.monotonic() - begin
    table.append(outcome.row)
    assert outcome.good, outcome
    assert outcome.tried == outcome.finished, outcome
