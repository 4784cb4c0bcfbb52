"""The program answers at once, and refuses what it does not understand."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tests.unit.cli.run_program import run

COMMANDS = ("instantiate", "scale", "change", "status", "terminate")

SLOW = ("cmd2", "kubernetes", "requests", "rich", "toscaparser")
SLOW += ("tacker_k8s_cr.lcm", "tacker_k8s_cr.package.loader", "yaml")

PARSERS = f"""
import sys
from tacker_k8s_cr.cli import shell
program = shell.Shell()
for name in {COMMANDS}:
    command, _, _ = program.command_manager.find_command([name])
    command(program, None, name).get_parser(name)
print(*(name for name in {SLOW} if name in sys.modules))
"""


def unreachable(*args: object, **kwargs: object) -> Cluster:
    raise errors.Unreachable("https://127.0.0.1:1", "refused")


def test_help_needs_nothing_that_is_slow():
    """With all parsers built, nothing that takes a while is imported."""
    done = subprocess.run(
        [sys.executable, "-c", PARSERS],
        capture_output=True,
        text=True,
        check=True,
    )

    assert [] == done.stdout.split()


def test_the_help_lists_the_commands_and_the_exit_codes():
    """Each command has its line; the exit codes are in the same place."""
    code, out, _ = run("--help")

    assert 0 == code
    for name in COMMANDS:
        assert f"\n  {name} " in out
    assert "Exit codes: 0 success; 2 rejected" in out


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_its_own_help(name):
    """The options after the command's name are those of the command."""
    for argv in ([name, "--help"], ["help", name]):
        code, out, _ = run(*argv)

        assert 0 == code
        assert out.startswith(f"usage: tacker-k8s-cr {name} ")
        for option in ("--kubeconfig", "--context", "--namespace"):
            assert option in out
        assert "--timeout" in out
        assert "--insecure" in out


def test_no_command_is_a_usage_error():
    """Without a command the help is shown, and nothing was done."""
    code, out, _ = run()

    assert 2 == code
    assert "Commands:" in out


@pytest.mark.parametrize(
    "argv",
    [
        ["replace", "a"],
        ["status"],
        ["status", "a", "--timeout", "soon"],
        ["instantiate", "a"],
        ["instantiate", "a", "p", "--field-conflicts", "maybe"],
        ["scale", "a", "Deployment/web", "--replicas", "-1"],
        [
            "scale",
            "a",
            "--aspect",
            "x",
            "--number-of-steps",
            "1",
            "--level",
            "1",
        ],
        ["terminate", "a", "--grace-seconds", "few"],
    ],
)
def test_what_is_not_understood_is_a_usage_error(argv):
    """Usage errors have the exit code of what is refused."""
    assert 2 == run(*argv)[0]


def test_a_usage_error_is_not_hidden_by_the_usage(capsys):
    """It is one line, which names the command that shows the usage."""
    run("instantiate", "a", "p", "--namesp", "b")

    assert (
        "tacker-k8s-cr instantiate: unrecognized arguments: --namesp b; "
        "see tacker-k8s-cr instantiate --help\n"
    ) == capsys.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [
        ["Deployment/web"],
        ["--replicas", "1"],
        ["--aspect", "workers"],
        ["--number-of-steps", "1"],
        ["Deployment/web", "--aspect", "workers", "--number-of-steps", "1"],
        ["Deployment/web", "--replicas", "1", "--level", "1"],
    ],
)
def test_scale_refuses_arguments_that_do_not_combine(argv):
    """An object goes with a number, an aspect with steps or a level."""
    code, out, err = run(
        "scale", "a", *argv, connect=lambda *args, **kwargs: Nothing()
    )

    assert (2, "") == (code, out)
    assert err.startswith("scale: ")


def test_a_column_that_is_none_is_refused_before_anything_is_done():
    """A typing error in a column does not come up when all is done."""
    code, _, err = run("status", "a", "-c", "nmae", connect=unreachable)

    assert 2 == code
    assert "no column nmae; there are Kind, Namespace, Name" in err


def test_an_error_has_its_reason_and_the_next_step():
    """Both are on standard error, and nothing else is."""
    code, out, err = run("status", "a", connect=unreachable)

    assert (2, "") == (code, out)
    reason, step = err.splitlines()
    assert (
        "the API server https://127.0.0.1:1 cannot be reached: refused"
        == reason
    )
    assert step.startswith("Check the address in the kubeconfig")


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_an_error_is_a_value_where_values_are_requested(form):
    """A machine reads the error from standard output (exit, type, text)."""
    import yaml

    code, out, err = run("status", "a", "-f", form, connect=unreachable)

    assert 2 == code
    assert {
        "type": "Unreachable",
        "exit": 2,
        "message": err.strip(),
        "details": [],
        "written": [],
        "unsettled": [],
        "not_written": [],
    } == yaml.safe_load(out)


def test_a_defect_is_one_line_and_its_trace_only_when_asked_for():
    """Whatever else is raised ends with the code 1, and without its text."""

    def broken(*args: object, **kwargs: object) -> Cluster:
        raise KeyError("hunter2")

    code, _, err = run("status", "a", connect=broken)
    _, _, debugged = run("status", "a", "--debug", connect=broken)

    assert 1 == code
    assert 1 == err.count("\n")
    assert "a defect of tacker-k8s-cr: KeyError" in err
    assert "hunter2" not in err
    assert "Traceback" in debugged


def test_ctrl_c_before_the_first_write_is_reported():
    """An interrupt has the code 130, and what is known is said."""

    def interrupting(*args: object, **kwargs: object) -> Cluster:
        raise KeyboardInterrupt

    code, _, err = run("status", "a", connect=interrupting)

    assert 130 == code
    assert "status a: interrupted; as far as is known, before" in err


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ([], (None, None, True)),
        (["--kubeconfig", "k", "--context", "c"], ("k", "c", True)),
        (["--insecure"], (None, None, False)),
    ],
)
def test_options_set_the_connection(argv, expected):
    """The file, the context and the trust go to the connection."""
    seen = []

    def connect(kubeconfig, context, *, verify, contact):
        assert not contact.answered
        seen.append((kubeconfig, context, verify))
        raise errors.Unreachable("s", "w")

    run("status", "a", *argv, connect=connect)

    assert [expected] == seen


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: a
contexts: [{{name: a, context: {{cluster: a, user: a}}}}]
clusters: [{{name: a, cluster: {{server: "{server}"}}}}]
users: [{{name: a, user: {{}}}}]
"""


def test_an_unreachable_server_is_reported_soon(tmp_path):
    """A line while it is tried again, and one when it is given up."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        server = f"http://127.0.0.1:{free.getsockname()[1]}"
    path = tmp_path / "config"
    path.write_text(KUBECONFIG.format(server=server))

    code, out, err = run("status", "a", "--kubeconfig", str(path))

    away = f"the API server {server} cannot be reached: Connection refused"
    assert (2, "") == (code, out)
    first, last, step = err.splitlines()
    assert first.endswith(f" s  {away}; retrying (at most 3 attempts, 5 s)")
    assert away == last
    assert step.startswith("Check the address in the kubeconfig")


class Nothing:
    """A cluster that receives no requests."""

    def with_deadline(self, deadline):
        return self

    def close(self):
        """Nothing was opened."""
