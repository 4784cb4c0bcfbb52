"""A host with Helm, as version 1 of Tacker expects it behind SSH.

It carries out the few commands that Tacker's Helm client sends, without a
shell: ``helm`` with the real program, and the copying, unpacking and removing
of charts in a folder of its own. A repository on this machine, with a chart of
the same name, replaces the one on the internet that the tests name.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import functools
import http.server
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tarfile
import threading

from tools.upstream import ssh
from tools.upstream.errors import UpstreamError
from tools.upstream.ssh import CommandResult

ADDRESS = ("127.0.22.22", 22)
"""Tacker's client supports no other port."""

USER = "helm"
PASSWORD = "helm-password"
CHARTS = "/var/tacker/helm"
"""Where Tacker's client puts charts."""

REPOSITORY = "https://charts.bitnami.com/bitnami"
CHART = "apache"
SAMPLE = (
    "samples/tests/etc/samples/etsi/nfv/test_cnf_helmchart/Files/kubernetes/"
    "localhelm-0.1.0.tgz"
)
"""A chart of the tests, which also becomes that of the repository."""

_MAKE = re.compile(r"if \[ ! -d (\S+) \]; then .*mkdir")
_UNPACK = re.compile(r"tar -zxf (\S+) -C (\S+)")
_REMOVE = re.compile(r"sudo rm -rf (\S+)")


@dataclasses.dataclass(frozen=True)
class ChartHost:
    """Carries out commands.

    :param root: the folder that stands for ``CHARTS``.
    :param repository: the URL that stands for ``REPOSITORY``.
    """

    root: pathlib.Path
    helm: pathlib.Path
    kubeconfig: pathlib.Path
    repository: str = REPOSITORY

    def resolve_path(self, path: str) -> pathlib.Path:
        """The file here that stands for one of the host's."""
        inside = os.path.normpath(path)
        if inside != CHARTS and not inside.startswith(f"{CHARTS}/"):
            raise PermissionError(13, f"outside {CHARTS}: {path}")
        return self.root / os.path.relpath(inside, CHARTS)

    def execute(self, command: str) -> CommandResult:
        """Carry out a command of Tacker's client."""
        try:
            if found := _MAKE.match(command):
                self.resolve_path(found[1]).mkdir(parents=True, exist_ok=True)
            elif found := _UNPACK.fullmatch(command):
                with tarfile.open(self.resolve_path(found[1])) as file:
                    file.extractall(self.resolve_path(found[2]), filter="data")
            elif found := _REMOVE.fullmatch(command):
                shutil.rmtree(self.resolve_path(found[1]), ignore_errors=True)
            elif command.startswith("helm "):
                return self.run(*map(self._word, shlex.split(command)[1:]))
            else:
                return ssh.refused(command)
        except (OSError, tarfile.TarError) as error:
            return CommandResult(1, error=f"{error}\n".encode())
        return CommandResult(0)

    def run(self, *words: str) -> CommandResult:
        """Run Helm."""
        done = subprocess.run(
            [str(self.helm), *words],
            capture_output=True,
            env={
                "HOME": str(self.root),
                "KUBECONFIG": str(self.kubeconfig),
                "PATH": os.environ["PATH"],
            },
        )
        return CommandResult(done.returncode, done.stdout, done.stderr)

    def _word(self, word: str) -> str:
        if word == REPOSITORY:
            return self.repository
        if word.startswith(f"{CHARTS}/"):
            return str(self.resolve_path(word))
        return word


@contextlib.contextmanager
def start(
    host: ChartHost, sample: pathlib.Path, address: ssh.Address = ADDRESS
) -> Iterator[dict[str, object]]:
    """Return the parameters of a VIM for the host behind SSH."""
    shutil.rmtree(host.root, ignore_errors=True)
    host.root.mkdir(parents=True)
    with repository(host, sample) as url:
        named = dataclasses.replace(host, repository=url)
        server = ssh.Server(USER, PASSWORD, named.resolve_path, named.execute)
        with ssh.serving(address, server) as (name, _port):
            info = {
                "masternode_ip": [name],
                "masternode_username": USER,
                "masternode_password": PASSWORD,
            }
            yield {"helm_info": info}


@contextlib.contextmanager
def repository(host: ChartHost, sample: pathlib.Path) -> Iterator[str]:
    """The URL of a repository with one chart."""
    folder = host.root / "repository"
    folder.mkdir(parents=True)
    with tarfile.open(sample) as file:
        file.extractall(folder, filter="data")
    chart = (folder / "localhelm").rename(folder / CHART)
    about = chart / "Chart.yaml"
    about.write_text(about.read_text().replace("localhelm", CHART))
    _checked(host.run("package", str(chart), "-d", str(folder)))
    _checked(host.run("repo", "index", str(folder)))
    handler = functools.partial(_Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing: a line would hold no news."""


def _checked(done: CommandResult) -> None:
    if done.status:
        raise UpstreamError(f"helm: {done.error.decode().strip()}")
