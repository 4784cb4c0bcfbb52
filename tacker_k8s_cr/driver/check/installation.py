"""Read an installation of Tacker from inside its environment."""

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

from tacker_k8s_cr.driver.check.check_rules import DriverStatus
from tacker_k8s_cr.driver.check.check_rules import PackagedDriver
from tacker_k8s_cr.driver.check.check_rules import Versions
from tacker_k8s_cr.driver.v2 import loader
from tacker_k8s_cr.model import errors

INFRA = "tacker.tacker.vnfm.drivers"
MANAGEMENT = "tacker.tacker.mgmt.drivers"


@dataclasses.dataclass(frozen=True)
class InstallationConfig:
    """The configuration of drivers.

    :param files: those that were read; may be empty.
    :param options: the names that each option lists.
    """

    files: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]
    packages: pathlib.Path
    v2: bool


@contextlib.contextmanager
def silence_warnings() -> Iterator[None]:
    """Suppress warnings of Tacker and of the packages that it imports."""
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


def read_configuration(files: Sequence[str]) -> InstallationConfig:
    """Read the named files, or those that Tacker would find.

    Raises RequestInvalid if they cannot be read. Tacker must be installed.
    """
    from oslo_config import cfg

    from tacker_k8s_cr.driver import configuration

    with silence_warnings():
        # The conductor's own program: it registers all that is read here,
        # and by the key manager.
        importlib.import_module("tacker.cmd.conductor")
    try:
        cfg.CONF(
            [], project="tacker", default_config_files=list(files) or None
        )
        settings = configuration.settings()
        return InstallationConfig(
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
        why = configuration.config_error(error)
        raise errors.RequestInvalid(
            f"the configuration cannot be read: {why}"
        ) from None


# -- Drivers ------------------------------------------------------------------


def drivers(namespace: str, names: Iterable[str]) -> dict[str, DriverStatus]:
    """Load these drivers, as Tacker does when it starts."""
    statuses = {
        entry.name: entry for entry in metadata.entry_points(group=namespace)
    }
    return {
        name: _loaded(statuses[name])
        if name in statuses
        else DriverStatus(
            name,
            error="not installed in this environment; installed: "
            f"{', '.join(sorted(statuses)) or 'none'}",
        )
        for name in names
    }


def _loaded(entry: metadata.EntryPoint) -> DriverStatus:
    try:
        with silence_warnings():
            kind = entry.load()
            return DriverStatus(
                entry.name,
                str(kind().get_type()),
                hash=_hash(pathlib.Path(inspect.getfile(kind))),
            )
    except (Exception, SystemExit) as error:  # noqa: BLE001
        # Tacker continues without a driver that cannot be loaded.
        why = f": {error}" if isinstance(error, ImportError) else ""
        return DriverStatus(
            entry.name,
            error=f"cannot be loaded: {type(error).__name__}{why}",
        )


def faults_of_hook() -> tuple[str, ...]:
    """Return why the v2 API cannot use this driver; empty if it can."""
    try:
        with silence_warnings():
            dispatch = importlib.import_module(loader.DISPATCH)
        if not isinstance(dispatch.kubernetes, loader.DriverModule):
            loader.check(dispatch)
    except loader.UnsupportedTackerVersion as error:
        return tuple(error.faults)
    except Exception as error:  # noqa: BLE001
        return (f"{loader.DISPATCH}: {type(error).__name__}",)
    return ()


# -- Packages -----------------------------------------------------------------


def packaged_drivers(folder: pathlib.Path) -> tuple[PackagedDriver, ...]:
    """Return the management drivers' files in all uploaded packages.

    Raises RequestInvalid when the folder cannot be read.
    """
    try:
        packages = sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError as error:
        raise errors.RequestInvalid(f"{folder}: {error.strerror}") from None
    return tuple(
        PackagedDriver(package.name, name, file, _hash(package / file))
        for package in packages
        for name, file in sorted(set(_named(package)))
    )


def _named(package: pathlib.Path) -> Iterator[tuple[str, str]]:
    for path in sorted((package / "Definitions").glob("*.y*ml")):
        try:
            document = yaml.safe_load(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            # Tacker has accepted the package.
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
    """Return the hash as Tacker computes it; empty if unreadable."""
    try:
        return hashlib.sha256(path.read_text().encode()).hexdigest()
    except (OSError, UnicodeDecodeError):
        return ""
