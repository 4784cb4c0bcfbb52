"""The program on a real API server: results, exit codes, what is shown."""

from __future__ import annotations

import base64
from collections.abc import Callable
from collections.abc import Iterator
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
from typing import Any

import pytest

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.state import leases
from tests import output_schemas
from tests.functional import manifests
from tests.secrecy.search import SecretSearch

pytestmark = pytest.mark.plane

PROGRAM = [sys.executable, "-m", "tacker_k8s_cr.cli.shell"]
PLANTED = "planted-hunter2"


class Done:
    """What a run of the program left: its exit code and both streams."""

    def __init__(self, code: int, out: str, err: str):
        self.code = code
        self.out = out
        self.err = err
        self.timeout = 0

    @property
    def value(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def environ(kubeconfig: pathlib.Path) -> dict[str, str]:
    return {**os.environ, "KUBECONFIG": str(kubeconfig), "TERM": "xterm"}


@pytest.fixture
def run(
    namespace: str, environ: dict[str, str], secret_search: SecretSearch
) -> Callable[..., Done]:
    """Runs the program to its end, in the test's namespace."""

    def _run(*argv: str | os.PathLike[str]) -> Done:
        ended = subprocess.run(
            [*PROGRAM, *argv, "--namespace", namespace],
            capture_output=True,
            text=True,
            timeout=180,
            env=environ,
        )
        secret_search.search(
            "the program's output", ended.stdout + ended.stderr
        )
        output_schemas.check_output(argv, ended.stdout)
        return Done(ended.returncode, ended.stdout, ended.stderr)

    return _run


@pytest.fixture
def started(
    namespace: str, environ: dict[str, str]
) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the program, in the test's namespace."""
    running = []

    def _started(*argv: str | os.PathLike[str]) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*PROGRAM, *argv, "--namespace", namespace],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
        )
        running.append(process)
        return process

    yield _started
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def files(tmp_path: pathlib.Path) -> Callable[..., pathlib.Path]:
    """Writes manifests where the program reads them."""

    def _files(*objs: Any, name: str = "package") -> pathlib.Path:
        path = tmp_path / f"{name}.yaml"
        path.write_text("\n---\n".join(json.dumps(obj) for obj in objs))
        return path

    return _files


def judged(name: str, phase: str) -> dict[str, Any]:
    """A ConfigMap that is current when its data say so."""
    obj = manifests.config_map(name, phase=phase)
    obj["metadata"]["annotations"] = {
        objects.PREFIX + "ready-when": "data.phase=Done",
        objects.PREFIX + "failed-when": "data.phase=Broken",
    }
    return obj


@pytest.mark.requirement("H1", "M1", "M3", "CL-8", "CL-15", "CL-17")
def test_a_lifecycle_from_a_shell(run, files, unique_name):
    """Each operation is a command that exits with 0 and prints the result."""
    first = files(manifests.deployment("web"), manifests.config_map("a"))
    second = files(
        manifests.deployment("web"), manifests.config_map("b"), name="second"
    )

    begun = run("instantiate", unique_name, first, "-f", "json")
    shown = run("status", unique_name, "-f", "json")
    scaled = run(
        "scale",
        unique_name,
        "deployments/web",
        "--replicas",
        "2",
        "-f",
        "json",
    )
    changed = run("change", unique_name, second, "-f", "json")
    ended = run("terminate", unique_name, "-f", "json")
    after = run("status", unique_name, "-f", "json")

    done = (begun, shown, scaled, changed, ended)
    assert [0] * 5 == [each.code for each in done], [d.err for d in done]
    assert ["instantiate", "status", "scale", "change", "terminate"] == [
        each.value["operation"] for each in done
    ]
    assert {("web", "current"), ("a", "current")} == {
        (obj["name"], obj["state"]) for obj in shown.value["objects"]
    }
    assert "2 replica(s) available" == scaled.value["objects"][0]["reason"]
    assert {"web": "unchanged", "b": "created", "a": "deleted"} == {
        obj["name"]: obj["action"] for obj in changed.value["objects"]
    }
    assert (2, "InstanceNotFound") == (after.code, after.value["type"])


@pytest.mark.requirement("L1")
def test_progress_is_on_standard_error_and_the_result_is_not(
    run, files, unique_name
):
    """A line for each change of verdict; the result has its stream alone."""
    done = run("instantiate", unique_name, files(manifests.deployment("web")))

    assert re.search(
        r"^ +\d+\.\d s  Deployment\.apps/\S+/web: in progress: ",
        done.err,
        re.MULTILINE,
    )
    assert re.search(
        r"^ +\d+\.\d s  Deployment\.apps/\S+/web: current: ",
        done.err,
        re.MULTILINE,
    )
    assert f"instantiate {unique_name}: done in " in done.err
    assert "Kind" in done.out
    assert " s  Deployment" not in done.out
    assert 0 == run("terminate", unique_name).code


def test_quiet_means_quiet(run, files, unique_name):
    """With --quiet there is the result and nothing else."""
    done = run(
        "instantiate",
        unique_name,
        files(manifests.config_map("a")),
        "--quiet",
        *("-f", "value", "-c", "Name", "-c", "State"),
    )

    assert (0, "a current\n", "") == (done.code, done.out, done.err)
    assert (0, "") == (
        run("terminate", unique_name, "-q", "-f", "csv").code,
        "",
    )


def test_what_the_server_refuses_writes_nothing(run, files, unique_name):
    """The dry run finds it before the first write: the code is 2."""
    bad = manifests.deployment("web", restartPolicy="Never")

    done = run(
        "instantiate",
        unique_name,
        files(manifests.config_map("a"), bad),
        "-f",
        "json",
    )

    assert 2 == done.code
    assert [] == done.value["written"]
    first, message = done.err.rstrip("\n").split("\n", 1)
    assert first.endswith("s  checking 2 objects (dry run)")
    assert done.value["message"] == message
    assert "restartPolicy" in done.err
    assert 2 == run("status", unique_name).code


def test_a_package_rejected_half_way_is_undone(run, files, unique_name):
    """Without the dry run too, nothing is left; the exit code reports that."""
    bad = manifests.deployment("web", restartPolicy="Never")

    done = run(
        "instantiate",
        unique_name,
        files(manifests.config_map("a"), bad),
        "--no-dry-run",
        *("-f", "json"),
    )

    assert (2, []) == (done.code, done.value["written"])
    assert 2 == run("status", unique_name).code


def test_a_failure_after_a_write_has_its_exit_code(run, files, unique_name):
    """An object that reports failure ends the wait: the code is 3."""
    path = files(judged("a", "Broken"), manifests.config_map("b"))

    done = run("instantiate", unique_name, path, "-f", "json")

    assert 3 == done.code
    assert "ObjectsFailed" == done.value["type"]
    assert {"a", "b"} == {ref["name"] for ref in done.value["written"]}
    (item,) = done.value["unsettled"]
    assert ("a", "failed") == (item["name"], item["state"])
    assert 0 == run("terminate", unique_name).code


def timed_out(
    run: Callable[..., Done],
    *argv: str | os.PathLike[str],
    reached: Callable[[Done], object],
) -> Done:
    """Return a run that its timeout ended when it had come so far.

    A busy machine may not come so far in the shortest.
    """
    for seconds in (6, 20, 60):
        done = run(*argv, "--timeout", str(seconds), "-f", "json")
        if reached(done):
            break
    done.timeout = seconds
    return done


@pytest.mark.requirement("T10", "CL-14")
def test_a_timeout_has_its_exit_code(run, files, unique_name):
    """The error names what is open, with its reason: the code is 4."""
    path = files(judged("a", "Going"), manifests.config_map("b"))

    done = timed_out(
        run,
        "instantiate",
        unique_name,
        path,
        reached=lambda d: d.value["written"],
    )

    assert 4 == done.code
    assert "ReadinessTimeout" == done.value["type"]
    (item,) = done.value["unsettled"]
    assert ("a", "in progress") == (item["name"], item["state"])
    assert 0 < item["age"] <= done.timeout
    assert 0 == run("terminate", unique_name).code


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_releases_the_lock(
    run, started, cluster, files, unique_name, namespace, number
):
    """Ctrl-C and SIGTERM end it with 130; the lock has no holder then."""
    process = started(
        "instantiate", unique_name, files(judged("a", "Going")), "-f", "json"
    )
    while "in progress" not in process.stderr.readline():
        assert process.poll() is None

    process.send_signal(number)
    out, err = process.communicate(timeout=20)

    assert 130 == process.returncode
    assert "interrupted; 0 of 1 object(s) current" in err
    assert "Interrupted" == json.loads(out)["type"]
    assert ["a"] == [item["name"] for item in json.loads(out)["unsettled"]]
    lease = cluster.get(leases.ref(unique_name, namespace))
    assert not objects.field(lease, ("spec", "holderIdentity"))
    assert 0 == run("terminate", unique_name).code


def test_a_scale_that_cannot_be_is_refused(run, files, unique_name):
    """Unknown objects and aspects are refused, naming what there is."""
    run("instantiate", unique_name, files(manifests.config_map("a")))

    unknown = run("scale", unique_name, "Deployment/web", "--replicas", "2")
    numberless = run("scale", unique_name, "configmap/a", "--replicas", "2")
    aspect = run(
        "scale", unique_name, "--aspect", "x", "--number-of-steps", "-1"
    )

    assert [2, 2, 2] == [unknown.code, numberless.code, aspect.code]
    assert "its kinds are ConfigMap" in unknown.err
    assert "has no replica count" in numberless.err
    assert "has no VNFD" in aspect.err
    assert 0 == run("terminate", unique_name).code


@pytest.mark.requirement("P23")
def test_no_secret_is_in_any_output(
    run, files, unique_name, kubeconfig, tmp_path, environ
):
    """Values of Secrets and of the kubeconfig are nowhere, not with -vv."""
    held = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "held"},
        "stringData": {"password": PLANTED},
    }
    wrong = {**held, "metadata": {"name": "x"}, "stringData": {"p": [PLANTED]}}
    undecodable = {**held, "metadata": {"name": "x"}, "data": {"p": PLANTED}}
    waits = judged("a", "Going")
    log = tmp_path / "log"
    wordy = ("-vv", "--debug", "--log-file", str(log))

    done = [
        run(
            "instantiate",
            unique_name,
            files(held, waits),
            "--timeout=5",
            *wordy,
        ),
        run("status", unique_name, "-f", "json", *wordy),
        run("change", unique_name, files(held, wrong), *wordy),
        run("change", unique_name, files(held, undecodable), *wordy),
        run(
            "instantiate",
            f"{unique_name}-b",
            files(wrong),
            "-f",
            "json",
            *wordy,
        ),
        run("instantiate", f"{unique_name}-b", files(undecodable), *wordy),
        run("terminate", unique_name, *wordy),
    ]

    assert 4 == done[0].code
    assert 0 == done[-1].code
    said = "".join(d.out + d.err for d in done) + log.read_text()
    assert PLANTED not in said
    assert base64.b64encode(PLANTED.encode()).decode() not in said
    for secret in re.findall(
        r"(?:-data|token|password): (\S{16,})", kubeconfig.read_text()
    ):
        assert secret not in said
        assert base64.b64decode(secret + "==").decode("latin-1") not in said


@pytest.mark.parametrize(
    ("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)]
)
def test_a_terminal_is_drawn_on(
    run, files, unique_name, namespace, environ, variables, coloured
):
    """A display in place on a terminal; colours unless NO_COLOR is set."""
    path = files(judged("a", "Going"))
    drawn = _on_terminal(
        [
            *PROGRAM,
            *("instantiate", unique_name, str(path)),
            *("--namespace", namespace),
        ],
        environ | variables,
        enough="in progress",
    )
    tree = _on_terminal(
        [*PROGRAM, "status", unique_name, "--namespace", namespace],
        environ | variables,
    )

    assert "ConfigMap/a" in drawn
    assert "in progress" in drawn
    assert "\x1b[?25l" in drawn  # the cursor is hidden, then shown again
    assert "\x1b[?25h" in drawn
    assert "── ConfigMap" in re.sub(r"\x1b\[[0-9;]*m", "", tree)
    assert coloured == ("\x1b[33m" in drawn + tree)
    assert 0 == run("terminate", unique_name).code


def _on_terminal(
    command: list[str], environ: dict[str, str], enough: str = ""
) -> str:
    """Return all that a program writes to a terminal of its own.

    :param enough: text at which the program gets Ctrl-C.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        written += part
        if enough and enough.encode() in written:
            process.send_signal(signal.SIGINT)
            enough = ""
    os.close(ours)
    process.wait(timeout=20)
    return written.decode()
