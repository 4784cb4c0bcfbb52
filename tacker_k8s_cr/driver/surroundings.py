"""What an installation of Tacker looks like from inside its environment."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import hashlib
import importlib
from importlib import metadata
import inspect
import logging
import pathlib
import sys
from typing import Any
import warnings

import yaml

from tacker_k8s_cr import errors
from tacker_k8s_cr.driver import hook
from tacker_k8s_cr.driver.findings import Carried
from tacker_k8s_cr.driver.findings import Driver
from tacker_k8s_cr.driver.findings import Versions

INFRA = "tacker.tacker.vnfm.drivers"
MANAGEMENT = "tacker.tacker.mgmt.drivers"


@dataclasses.dataclass(frozen=True)
class Configured:
    """What the configuration says of drivers.

    :param files: those that were read; none is a configuration, too.
    :param options: the names that each option lists.
    """

    files: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]
    packages: pathlib.Path
    v2: bool


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Tacker and what it imports warn about themselves and each other."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def versions() -> Versions:
    return Versions(
        (sys.version_info.major, sys.version_info.minor),
        _version("tacker-k8s-cr"),
        _version("tacker"),
        _version("kubernetes"),
    )


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def configured(files: Sequence[str]) -> Configured:
    """Read the files that are named, or those that Tacker would find.

    Raises RequestInvalid when they cannot be read. Tacker has to be there.
    """
    from oslo_config import cfg

    from tacker_k8s_cr.driver import conf

    with quiet():
        # The conductor's own program: it registers all that is read here,
        # and by the key manager.
        importlib.import_module("tacker.cmd.conductor")
    try:
        cfg.CONF(
            [], project="tacker", default_config_files=list(files) or None
        )
        settings = conf.settings()
        return Configured(
            tuple(cfg.CONF.config_file),
            {
                name: tuple(cfg.CONF.tacker[name])
                for name in (
                    "vnflcm_infra_driver",
                    "infra_driver",
                    "vnflcm_mgmt_driver",
                )
            },
            pathlib.Path(cfg.CONF.vnf_package.vnf_package_csar_path),
            settings.v2,
        )
    except (cfg.Error, ValueError) as error:
        raise errors.RequestInvalid(
            f"the configuration cannot be read: {conf.fault(error)}"
        ) from None


# -- Drivers ------------------------------------------------------------------


def drivers(namespace: str, names: Iterable[str]) -> dict[str, Driver]:
    """Load these drivers, as Tacker does when it starts."""
    found = {
        entry.name: entry for entry in metadata.entry_points(group=namespace)
    }
    return {
        name: _loaded(found[name])
        if name in found
        else Driver(
            name,
            error="no such driver is installed in this environment; there are "
            f"{', '.join(sorted(found)) or 'none'}",
        )
        for name in names
    }


def _loaded(entry: metadata.EntryPoint) -> Driver:
    try:
        with quiet():
            kind = entry.load()
            return Driver(
                entry.name,
                str(kind().get_type()),
                hash=_hash(pathlib.Path(inspect.getfile(kind))),
            )
    except (Exception, SystemExit) as error:  # noqa: BLE001
        # Whatever keeps it from loading, Tacker goes on without it.
        why = f": {error}" if isinstance(error, ImportError) else ""
        return Driver(
            entry.name,
            error=f"cannot be loaded: {type(error).__name__}{why}",
        )


def faults_of_hook() -> tuple[str, ...]:
    """What keeps the v2 API from getting our driver; nothing if it does."""
    try:
        with quiet():
            dispatch = importlib.import_module(hook.DISPATCH)
        if not isinstance(dispatch.kubernetes, hook.Bound):
            hook.check(dispatch)
    except hook.HostUnknown as error:
        return tuple(error.faults)
    except Exception as error:  # noqa: BLE001
        return (f"{hook.DISPATCH}: {type(error).__name__}",)
    return ()


# -- Packages -----------------------------------------------------------------


def carried(folder: pathlib.Path) -> tuple[Carried, ...]:
    """The management drivers' files in all packages that were uploaded.

    Raises RequestInvalid when the folder cannot be read.
    """
    try:
        packages = sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError as error:
        raise errors.RequestInvalid(f"{folder}: {error.strerror}") from None
    return tuple(
        Carried(package.name, name, file, _hash(package / file))
        for package in packages
        for name, file in sorted(set(_named(package)))
    )


def _named(package: pathlib.Path) -> Iterator[tuple[str, str]]:
    for path in sorted((package / "Definitions").glob("*.y*ml")):
        try:
            document = yaml.safe_load(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            # Tacker has taken it; it is not for us to complain.
            continue
        nodes = _at(document, "topology_template", "node_templates")
        for node in nodes.values():
            artifacts = _at(node, "artifacts")
            for use in _at(node, "interfaces", "Vnflcm").values():
                name = _at(use).get("implementation")
                file = _at(artifacts.get(str(name))).get("file")
                if isinstance(name, str) and isinstance(file, str):
                    yield name, file


def _at(value: Any, *path: str) -> Mapping[str, Any]:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _hash(path: pathlib.Path) -> str:
    """As Tacker makes it; empty for a file that cannot be read."""
    try:
        return hashlib.sha256(path.read_text().encode()).hexdigest()
    except (OSError, UnicodeDecodeError):
        return ""
