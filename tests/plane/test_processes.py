"""Processes of the plane, with small programs in place of components."""

from __future__ import annotations

import dataclasses
import http.server
import os
import pathlib
import signal
import socket
import threading

import pytest

from tools.plane import lock
from tools.plane import ports
from tools.plane import processes
from tools.plane import signals
from tools.plane.components import Component
from tools.plane.components import is_answering
from tools.plane.errors import PlaneError
from tools.plane.folders import Folders
from tools.plane.processes import Identity

FOREVER = "import time; time.sleep(600)"
STUBBORN = (
    "import signal, sys, time; "
    "signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print('deaf', flush=True); time.sleep(600)"
)


def test_a_process_is_recorded_and_ended(start_program, records):
    """It is found again by its record, and gone after the stop."""
    identity = start_program(FOREVER)

    assert records["stand-in"] == identity
    assert identity.is_alive

    processes.stop(identity)

    assert not identity.is_alive
    assert not pathlib.Path(f"/proc/{identity.pid}").exists()


def test_a_process_survives_a_ctrl_c_of_its_parent(start_program):
    """It has a session of its own, which no terminal sends signals to."""
    identity = start_program(FOREVER)

    assert identity.pid == os.getsid(identity.pid)


def test_a_process_that_ignores_the_request_is_ended(
    start_program, records, tmp_path
):
    """Patience has an end."""
    identity = start_program(STUBBORN)
    said = tmp_path / "stand-in.log"
    processes.wait_ready(
        "stand-in", identity, lambda: "deaf" in said.read_text(), said, 10
    )

    processes.stop(identity, patience=0.2)

    assert not identity.is_alive


@pytest.mark.parametrize(
    "change", [{"begun": 1}, {"boot": "an earlier run of the machine"}]
)
def test_a_recycled_id_is_never_ended(start_program, change):
    """A process that has the number but not the start time is another's."""
    stranger = start_program(FOREVER)

    processes.stop(dataclasses.replace(stranger, **change))

    assert stranger.is_alive


def test_an_ended_process_can_be_stopped(start_program):
    """To stop twice is harmless."""
    identity = start_program(FOREVER)

    processes.stop(identity)
    processes.stop(identity)

    assert not identity.is_alive


def test_a_process_that_ends_while_starting_shows_its_last_words(
    start_program, tmp_path
):
    """The end of its log is in the error."""
    identity = start_program("raise SystemExit('no such flag: --wrong')")

    with pytest.raises(PlaneError, match=r"(?s)ended.*no such flag: --wrong"):
        processes.wait_ready(
            "stand-in", identity, lambda: False, tmp_path / "stand-in.log", 10
        )


def test_a_process_that_never_answers_shows_its_last_words(
    start_program, tmp_path
):
    """At the deadline the error states how long, and shows the log."""
    identity = start_program(STUBBORN)
    log = tmp_path / "stand-in.log"
    processes.wait_ready(
        "stand-in", identity, lambda: "deaf" in log.read_text(), log, 10
    )

    with pytest.raises(PlaneError, match=r"(?s)does not answer after.*deaf"):
        processes.wait_ready("stand-in", identity, lambda: False, log, 0)


def test_the_log_is_for_its_user_alone(start_program, tmp_path):
    """It may hold what others should not read."""
    start_program(FOREVER)

    assert 0o600 == (tmp_path / "stand-in.log").stat().st_mode & 0o777


def test_a_used_port_is_named_with_its_holder():
    """Component, port, process name, process id and user."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        name = pathlib.Path("/proc/self/comm").read_text().strip()

        with pytest.raises(PlaneError) as caught:
            ports.check_free({port: "etcd"})

    assert (
        f"etcd: port {port} is held by {name} (process {os.getpid()}), of user"
    ) in str(caught.value)


def test_a_free_port_passes():
    """The check passes when no process listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    ports.check_free({port: "etcd"})


class Reply(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/ready" else 503)
        self.end_headers()

    def log_message(self, *_arguments):
        pass


@pytest.mark.parametrize(
    ("path", "ready"), [("/ready", True), ("/starting", False)]
)
def test_ready_means_answered(path, ready, tmp_path):
    """A process that runs but does not say 200 is not ready."""
    with http.server.HTTPServer(("127.0.0.1", 0), Reply) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}{path}"
        component = Component("a", "control plane", (), url, ())
        try:
            assert ready == is_answering(Folders(tmp_path), component)
        finally:
            server.shutdown()
            thread.join()


def test_a_refused_connection_is_not_ready(tmp_path):
    """A refused connection does not count as an answer."""
    component = Component("a", "control plane", (), "http://127.0.0.1:1/", ())

    assert not is_answering(Folders(tmp_path), component)


def test_a_second_command_waits_for_the_first(tmp_path):
    """The wait names the holder, and ends when the lock is free."""
    path = tmp_path / "run" / "lock"
    said = []
    waiting = threading.Event()
    entered = threading.Event()

    def say(text):
        said.append(text)
        waiting.set()

    def second():
        with lock.hold(path, say):
            entered.set()

    thread = threading.Thread(target=second)
    with lock.hold(path, print):
        thread.start()
        assert waiting.wait(10)
        assert not entered.is_set()
    assert entered.wait(10)
    thread.join()
    assert [
        f"waiting for process {os.getpid()}, which works in {path.parent}"
    ] == said


def test_a_lock_with_a_removed_file_is_taken_again(tmp_path):
    """The command that waited locks the new file, not the removed one."""
    path = tmp_path / "lock"
    waiting = threading.Event()
    entered = threading.Event()

    def second():
        with lock.hold(path, lambda _text: waiting.set()):
            entered.set()
            assert path.exists()

    thread = threading.Thread(target=second)
    with lock.hold(path, print):
        thread.start()
        assert waiting.wait(10)
        path.unlink()
    thread.join()
    assert entered.is_set()


def test_a_signal_waits_until_a_process_is_recorded():
    """What must not be interrupted is finished first."""
    done = []

    def critical():
        with signals.defer():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        critical()

    assert ["all of it"] == done


def test_a_request_to_end_is_an_interrupt():
    """SIGTERM ends a start as orderly as ctrl-C does."""
    with (
        signals.raise_interrupts(),
        pytest.raises(KeyboardInterrupt, match="SIGTERM"),
    ):
        signal.raise_signal(signal.SIGTERM)


def test_signals_are_handled_as_before_afterwards():
    """The library changes no state permanently."""
    before = signal.getsignal(signal.SIGTERM)

    with signals.raise_interrupts(), signals.defer():
        assert before != signal.getsignal(signal.SIGTERM)

    assert before == signal.getsignal(signal.SIGTERM)


def test_an_unused_process_id_has_no_process():
    """Process ids end below this one."""
    assert Identity.of(2**22 + 1) is None
