"""No secret is on the command line of any process."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tacker_k8s_cr.model.objects import ObjectRef
from tests.functional import test_cli
from tests.secrecy import canary_secrets
from tests.secrecy import search

pytestmark = pytest.mark.plane

environ = test_cli.environ
files = test_cli.files
started = test_cli.started

PLANTED = "planted-on-no-command-line"

HOOK = """
import os
import sys

STARTS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system",
          "os.spawn")

def hear(event, args):
    if event in STARTS:
        with open(os.environ["STARTED"], "a") as file:
            print(event, args, file=file)

sys.addaudithook(hear)
"""
"""Notes the arguments of every program that a Python starts."""


@pytest.fixture
def heard(tmp_path, environ, monkeypatch):
    """Notes the programs that the command line starts, with arguments."""
    folder = tmp_path / "hook"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HOOK)
    notes = tmp_path / "started"
    notes.touch()
    environ["PYTHONPATH"] = str(folder)
    environ["STARTED"] = str(notes)
    return notes


@pytest.fixture
def with_token(kubectl, kubeconfig, namespace, environ, tmp_path):
    """The kubeconfig of the program has the token of an administrator."""
    kubectl("create", "serviceaccount", "admin", "-n", namespace)
    account = f"--serviceaccount={namespace}:admin"
    role = ("create", "clusterrolebinding", namespace)
    kubectl(*role, "--clusterrole=cluster-admin", account)
    token = kubectl("create", "token", "admin", "-n", namespace).strip()
    admin = kubeconfigs.load(str(kubeconfig))
    path = tmp_path / "kubeconfig"
    path.write_text(
        kubeconfigs.Kubeconfig(
            where="test", server=admin.server, ca=admin.ca, token=token
        ).to_yaml()
    )
    path.chmod(0o600)
    environ["KUBECONFIG"] = str(path)
    yield token
    kubectl("delete", "clusterrolebinding", namespace)


def secret():
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "held"},
        "stringData": {"password": PLANTED},
    }


@pytest.mark.requirement("T9", "P23")
def test_no_command_line_of_an_operation_has_a_secret(
    cluster, namespace, started, files, unique_name, heard, with_token
):
    """Neither the token nor the value of a Secret of the package.

    Those of all processes below this one are searched while the operation
    waits, and those of every program that it has started.
    """
    waits = test_cli.judged("gate", "Closed")
    gate = ObjectRef("", "ConfigMap", namespace, "gate")

    process = started("instantiate", unique_name, files(secret(), waits))
    lines = {}
    until = threading.Event()
    while cluster.get(gate) is None and process.poll() is None:
        until.wait(0.1)
    lines.update(search.process_arguments())
    cluster.patch(gate, {"data": {"phase": "Done"}}, "tests")
    _, err = process.communicate(timeout=120)

    assert 0 == process.returncode, err
    assert str(process.pid) in lines
    assert "instantiate" in lines[str(process.pid)]
    for said in (*lines.values(), heard.read_text()):
        assert with_token not in said
        assert PLANTED not in said
        assert not canary_secrets.find_secrets(said)
    ended = started("terminate", unique_name)
    assert 0 == ended.wait(120)


@pytest.mark.requirement("T9")
def test_no_command_takes_a_secret_as_an_argument(environ):
    """A credential is in a file that is named, and a Secret in a package.

    Of all options of all commands, none is for a token, a password, a key
    or a header.
    """
    words = ("token", "password", "secret", "header", "credential", "key")
    listed = subprocess.run(
        [*test_cli.PROGRAM, "complete"],
        capture_output=True,
        text=True,
        check=True,
        env=environ,
    ).stdout

    options = {word for word in listed.split() if word.startswith("--")}
    options = {word.strip("'\"") for word in options}
    assert "--kubeconfig" in options
    assert [] == [o for o in options if any(word in o for word in words)]


@pytest.mark.leaks
def test_a_secret_on_a_command_line_would_be_found(heard, environ):
    """The search of started programs and of processes does find one."""
    program = (
        "import subprocess, sys\n"
        f"subprocess.run([sys.executable, '-c', 'pass', {PLANTED!r}])\n"
        "input()\n"
    )

    with subprocess.Popen(
        [sys.executable, "-c", program, PLANTED],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        found = search.process_arguments()[str(process.pid)]
        process.communicate("\n", timeout=60)

    assert PLANTED in found
    assert PLANTED in heard.read_text()
