"""Hosts behind SSH, in place of those that Tacker's tests expect."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tarfile

import paramiko
import pytest

from tools.upstream import chart_host
from tools.upstream import prometheus_host
from tools.upstream import ssh
from tools.upstream.chart_host import CHARTS
from tools.upstream.chart_host import ChartHost
from tools.upstream.ssh import CommandResult
from tools.upstream.ssh import Server

ANY = ("127.0.0.1", 0)

PROGRAM = f"""#!{sys.executable}
import json, sys
if "fail" in sys.argv:
    sys.exit("no release")
print(json.dumps(sys.argv[1:]))
"""


@pytest.fixture
def host(tmp_path):
    """One whose Helm prints its arguments, or fails with ``fail``."""
    program = tmp_path / "helm"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    root = tmp_path / "charts"
    root.mkdir()
    return ChartHost(root, program, tmp_path / "config", "http://localhost:1")


@pytest.fixture
def packed(tmp_path):
    """A chart in an archive."""
    path = tmp_path / "chart.tgz"
    with tarfile.open(path, "w:gz") as file:
        about = tarfile.TarInfo("chart/Chart.yaml")
        about.size = 4
        file.addfile(about, io.BytesIO(b"name"))
    return path


# -- Commands of Tacker's Helm client -----------------------------------------


def test_helm_runs_with_the_words_of_the_command(host):
    """Without a shell: quotes are taken off, and no more."""
    done = host.execute("helm install web 'a chart' --set x=$HOME")

    assert ["install", "web", "a chart", "--set", "x=$HOME"] == json.loads(
        done.out
    )


def test_the_output_of_a_failed_helm_is_passed_on(host):
    """With its status."""
    done = host.execute("helm uninstall fail")

    assert (1, b"no release\n") == (done.status, done.error)


def test_the_repository_on_the_internet_is_one_here(host):
    """There may be no internet."""
    done = host.execute(f"helm repo add bitnami {chart_host.REPOSITORY}")

    assert "http://localhost:1" == json.loads(done.out)[-1]


def test_charts_are_in_a_folder_of_the_host(host):
    """Their paths on the host stand for paths in it."""
    done = host.execute(f"helm install web {CHARTS}/one/chart")

    assert str(host.root / "one/chart") == json.loads(done.out)[-1]


def test_a_chart_is_copied_unpacked_and_removed(host, packed):
    """By the commands that Tacker's client sends."""
    folder = f"{CHARTS}/one"
    made = host.execute(
        f"if [ ! -d {folder} ]; then `sudo mkdir -p {folder}; "
        f"sudo chown -R helm {folder};`; fi"
    )
    host.resolve_path(f"{folder}/chart.tgz").write_bytes(packed.read_bytes())
    unpacked = host.execute(f"tar -zxf {folder}/chart.tgz -C {folder}")

    assert (CommandResult(0), CommandResult(0)) == (made, unpacked)
    assert "name" == (host.root / "one/chart/Chart.yaml").read_text()
    assert CommandResult(0) == host.execute(f"sudo rm -rf {folder}")
    assert [] == list(host.root.iterdir())


@pytest.mark.parametrize(
    "command",
    [
        "sudo rm -rf /etc",
        f"sudo rm -rf {CHARTS}/../../..",
        f"tar -zxf /etc/x.tgz -C {CHARTS}",
        f"if [ ! -d {CHARTS}-other ]; then `sudo mkdir -p x`; fi",
    ],
)
def test_nothing_outside_of_the_folder_is_touched(host, command):
    """Whatever the client asks for."""
    done = host.execute(command)

    assert 1 == done.status
    assert b"outside" in done.error


@pytest.mark.parametrize("command", ["reboot", "sh -c 'helm x'", "helmet"])
def test_any_other_command_is_refused(host, command):
    """As by a shell that does not know it."""
    assert 127 == host.execute(command).status


# -- SSH ----------------------------------------------------------------------


@contextlib.contextmanager
def connected(address, user, word):
    with contextlib.closing(paramiko.Transport(address)) as found:
        found.connect(username=user, password=word)
        yield found


@pytest.fixture
def server(tmp_path):
    """One that repeats commands."""
    return Server(
        "user",
        "right",
        lambda path: tmp_path / path,
        lambda command: CommandResult(3, command.encode(), b"why"),
    )


def test_a_command_has_output_errors_and_a_status(server):
    """Again and again on one connection."""
    with (
        ssh.serving(ANY, server) as address,
        connected(address, "user", "right") as transport,
    ):
        for number in range(20):
            channel = transport.open_session()
            channel.exec_command(f"run {number}")
            assert f"run {number}".encode() == channel.makefile().read()
            assert b"why" == channel.makefile_stderr().read()
            assert 3 == channel.recv_exit_status()


def test_a_wrong_password_is_refused(server):
    """As by any host."""
    with (
        ssh.serving(ANY, server) as address,
        pytest.raises(paramiko.AuthenticationException),
        connected(address, "user", "wrong"),
    ):
        pass


def test_rule_files_of_prometheus_are_stored_and_removed(tmp_path):
    """In one folder, whatever the path."""
    root = tmp_path / "rules"
    user, word = prometheus_host.USER, prometheus_host.PASSWORD
    with (
        prometheus_host.start(root, ANY) as address,
        connected(address, user, word) as transport,
    ):
        files = paramiko.SFTPClient.from_transport(transport)
        files.putfo(io.BytesIO(b"rules"), "/etc/prometheus/rules/a.json")
        assert b"rules" == (root / "a.json").read_bytes()
        files.remove("/etc/prometheus/rules/a.json")
        with pytest.raises(FileNotFoundError):
            files.stat("/etc/prometheus/rules/a.json")

    assert [] == list(root.iterdir())
