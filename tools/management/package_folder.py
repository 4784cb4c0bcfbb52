"""The sample, and what the Go modules of Cluster API bring, as one folder."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import pathlib
import re
import shutil
import subprocess
import tempfile

import yaml

from tools import csar
from tools.plane import binaries
from tools.plane import build
from tools.plane import golang
from tools.plane import module_files
from tools.plane import modules
from tools.plane.binaries import Store
from tools.plane.errors import PlaneError

PrintLine = Callable[[str], object]

SAMPLE = csar.SAMPLES / "capi_management_cluster"
MANIFESTS = pathlib.Path("Files", "kubernetes")
_CAPI = "sigs.k8s.io/cluster-api"
_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::?[=-](?P<default>[^}]*))?\}")


@dataclasses.dataclass(frozen=True)
class Provider:
    """A part of Cluster API with a controller of its own.

    :param config: where in its Go module the manifests are.
    :param binary: the plane's name of its controller.
    """

    name: str
    module: str
    config: str
    binary: str


PROVIDERS = (
    Provider("core", _CAPI, "core/config", "capi-core"),
    Provider("bootstrap", _CAPI, "bootstrap/kubeadm/config", "capi-bootstrap"),
    Provider(
        "control_plane",
        _CAPI,
        "controlplane/kubeadm/config",
        "capi-control-plane",
    ),
    Provider(
        "infrastructure",
        f"{_CAPI}/test",
        "infrastructure/docker/config",
        "capi-dev",
    ),
)


def compose(
    out: pathlib.Path, store: Store, print_line: PrintLine
) -> pathlib.Path:
    """Write the whole package into a folder, replacing its contents."""
    build.build(store, [binaries.ALL["kubectl"]], print_line)
    go = golang.find(modules.go_needed(["capi"]), print_line)
    values = yaml.safe_load((SAMPLE / "compose/values.yaml").read_text())
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temp:
        work = pathlib.Path(temp)
        shutil.copytree(SAMPLE / "compose", work, dirs_exist_ok=True)
        made = {}
        for one in PROVIDERS:
            config = (
                module_files.locate(go, "capi", one.module, print_line)
                / one.config
            )
            _copy(config, work / "upstream" / one.name)
            text = _kustomize(store.path("kubectl"), work / one.name)
            made[one.name] = substitute(text, values)
    shutil.rmtree(out, ignore_errors=True)
    for name in ("Definitions", "Files", "csar.yaml"):
        copy = shutil.copytree if (SAMPLE / name).is_dir() else shutil.copy
        copy(SAMPLE / name, out / name)
    for name, text in made.items():
        (out / MANIFESTS / f"{name}.yaml").write_text(text)
        print_line(f"{name}: {text.count(chr(10) + '---') + 1} objects")
    return out


def substitute(text: str, values: Mapping[str, str]) -> str:
    """The text with the values of its variables, as clusterctl puts them in.

    ``${NAME:=default}`` is the default unless there is a value; ``${NAME}``
    needs one.
    """

    def value(match: re.Match[str]) -> str:
        found = values.get(match["name"], match["default"])
        if found is None:
            raise PlaneError(f"the variable {match['name']} has no value")
        return found

    return _VARIABLE.sub(value, text)


def _copy(source: pathlib.Path, target: pathlib.Path) -> None:
    """Copy files of the module cache, which are read-only; copies are not."""
    for path in source.rglob("*.yaml"):
        file = target / path.relative_to(source)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(path.read_bytes())


def _kustomize(kubectl: pathlib.Path, folder: pathlib.Path) -> str:
    done = subprocess.run(
        [str(kubectl), "kustomize", str(folder)],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise PlaneError(f"{folder.name}: {done.stderr.strip()}")
    return done.stdout
