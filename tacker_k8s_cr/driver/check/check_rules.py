"""Rules of the installation check: pure."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import re

from oslo_upgradecheck.upgradecheck import Code

OURS = "kubernetes_cr"
THEIRS = "kubernetes"
TYPE = "kubernetes"
"""Of a VIM; Tacker looks a driver up by it."""

DELIVERY = "kubeconfig-webhook"
OPTIONS = ("vnflcm_infra_driver", "infra_driver")
MANAGEMENT = "vnflcm_mgmt_driver"
KNOWN_TACKERS = ("16.0.0",)
OLDEST_CLIENT = 31
OLDEST_PYTHON = (3, 10)


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of a check of one part of an installation.

    :param fix: the option that would fix it, and its value.
    """

    code: Code
    subject: str
    details: str
    fix: tuple[str, str] | None = None

    @property
    def level(self) -> str:
        """The code in words: success, warning or failure."""
        return self.code.name.lower()


@dataclasses.dataclass(frozen=True)
class DriverStatus:
    """The result of loading a driver, as Tacker does it.

    :param type: as the driver reports it; empty if it was not loaded.
    :param error: why it was not loaded.
    :param hash: SHA-256 of the file of its class.
    """

    name: str
    type: str = ""
    error: str = ""
    hash: str = ""


@dataclasses.dataclass(frozen=True)
class Versions:
    """Versions of the installed software; empty if not installed."""

    python: tuple[int, int]
    ours: str
    tacker: str
    client: str


@dataclasses.dataclass(frozen=True)
class PackagedDriver:
    """A management driver's file in a package that was uploaded.

    :param hash: empty where the file is not in the package.
    """

    package: str
    driver: str
    file: str
    hash: str


@dataclasses.dataclass(frozen=True)
class Unfinished:
    """An operation in FAILED_TEMP."""

    api: str
    occurrence: str
    operation: str
    instance: str


def check_versions(versions: Versions) -> Iterator[Finding]:
    python = ".".join(map(str, versions.python))
    if versions.python < OLDEST_PYTHON:
        yield _failure("Python", f"expected 3.10 or later, got {python}")
    else:
        yield _success("Python", python)
    yield _success("tacker-k8s-cr", versions.ours)
    if not versions.tacker:
        yield _failure(
            "Tacker",
            "not installed in this environment; run the check in the "
            "environment of tacker-conductor and tacker-server",
        )
    elif versions.tacker not in KNOWN_TACKERS:
        yield _warning(
            "Tacker",
            f"not tested with {versions.tacker}, only with "
            f"{', '.join(KNOWN_TACKERS)}",
        )
    else:
        yield _success("Tacker", versions.tacker)
    major = re.match(r"\d+", versions.client)
    if major is None or int(major.group()) < OLDEST_CLIENT:
        yield _failure(
            "kubernetes (Python)",
            f"expected {OLDEST_CLIENT} or later, got "
            f"{versions.client or 'none (not installed)'}",
        )
    else:
        yield _success("kubernetes (Python)", versions.client)


def check_infra_drivers(
    option: str, names: Sequence[str], drivers: Mapping[str, DriverStatus]
) -> Iterator[Finding]:
    """Check which driver Tacker uses for a Kubernetes VIM, by option.

    :param drivers: those that the option lists, by name.
    """
    subject = f"[tacker] {option}"
    loaded = [drivers[name] for name in names if drivers[name].type]
    of_type = [driver.name for driver in loaded if driver.type == TYPE]
    for name in names:
        if drivers[name].error:
            yield _failure(subject, f"{name}: {drivers[name].error}")
    types = [driver.type for driver in loaded]
    for twice in sorted({kind for kind in types if types.count(kind) > 1}):
        conflicting = [
            driver.name for driver in loaded if driver.type == twice
        ]
        yield _failure(
            subject,
            f"{' and '.join(conflicting)} have the same type {twice}: "
            "the services do not start (KeyError: <class 'type'>)",
            (option, _fixed_value(names)),
        )
    if len(of_type) > 1:
        return
    if of_type == [OURS]:
        yield _success(subject, f"VIMs of type {TYPE} use {OURS}")
    elif OURS not in names:
        yield _failure(
            subject,
            f"VIMs of type {TYPE}: expected {OURS}, got "
            f"{of_type[0] if of_type else 'none'}. {_CONSEQUENCE[option]}",
            (option, _fixed_value(names)),
        )


_CONSEQUENCE = {
    "vnflcm_infra_driver": "That driver performs all instantiations",
    "infra_driver": "That driver performs every operation after the first "
    "scale, also of instances of this driver",
}


def _fixed_value(names: Sequence[str]) -> str:
    kept = [name for name in names if name not in (OURS, THEIRS)]
    return ",".join([*kept, OURS])


def check_v2(
    is_required: bool, named: bool, faults: Sequence[str]
) -> Iterator[Finding]:
    """Check whether the v2 API uses this driver.

    :param named: an option of v1 lists it; Tacker loads it only then.
    :param faults: differences of this Tacker from the versions tested.
    """
    subject = "v2 API"
    if not is_required:
        yield _warning(
            subject,
            "[tacker_k8s_cr] v2 is false: Kubernetes VIMs use Tacker's own "
            "driver, which silently ignores custom resources",
        )
    for fault in faults:
        yield _failure(subject, fault)
    if is_required and not named:
        yield _failure(
            subject,
            f"not served: no option of v1 lists {OURS}, which loads it",
        )
    elif is_required and not faults:
        yield _success(subject, f"Kubernetes VIMs use {OURS}")


def check_management_drivers(
    names: Sequence[str], drivers: Mapping[str, DriverStatus]
) -> Iterator[Finding]:
    """Check the management drivers of v1, loaded by name and type."""
    subject = f"[tacker] {MANAGEMENT}"
    for name in names:
        driver = drivers[name]
        if driver.error:
            yield _failure(subject, f"{name}: {driver.error}")
        elif driver.type != name:
            yield _failure(
                subject,
                f"{name} reports the type {driver.type}: the services do not "
                "start (KeyError)",
            )
    if DELIVERY in names:
        yield _success(subject, f"lists {DELIVERY}")
    else:
        yield _warning(
            subject,
            f"does not list {DELIVERY}: v1 packages that use it are refused",
            (MANAGEMENT, ",".join([*names, DELIVERY])),
        )


def check_packages(
    carried: Iterable[PackagedDriver],
    names: Sequence[str],
    drivers: Mapping[str, DriverStatus],
) -> Iterator[Finding]:
    """Check the copies of drivers in packages, by hash, as Tacker does.

    A name without an installed driver is that of a script for v2.
    """
    agree = 0
    for item in carried:
        subject = f"package {item.package}"
        driver = drivers.get(item.driver)
        if driver is None or not driver.hash:
            continue
        if not item.hash:
            yield _failure(subject, f"{item.file} is missing in the package")
        elif item.hash != driver.hash:
            yield _failure(
                subject,
                f"{item.file} differs from the installed {item.driver}: v1 "
                "operations of its instances fail. Build the package again, "
                "or install the version of tacker-k8s-cr of its copy",
            )
        elif item.driver not in names:
            yield _failure(
                subject,
                f"requires {item.driver}, which [tacker] {MANAGEMENT} does "
                "not list",
                (MANAGEMENT, ",".join([*names, item.driver])),
            )
        else:
            agree += 1
    if agree:
        yield _success(
            "packages", f"{agree} contain the installed driver's file"
        )


def check_unfinished(operations: Iterable[Unfinished]) -> Iterator[Finding]:
    """Report operations that their driver should finish first."""
    for item in operations:
        yield _warning(
            f"{item.api} operation {item.occurrence}",
            f"{item.operation} of instance {item.instance} is in FAILED_TEMP: "
            "retry it, roll it back or fail it before you change drivers",
        )


def fix_lines(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the lines of the configuration file that fix findings."""
    fixes: dict[str, str] = {}
    for option, value in (item.fix for item in findings if item.fix):
        if option in fixes:
            values = [v for v in value.split(",") if v not in fixes[option]]
            value = ",".join([fixes[option], *values])
        fixes[option] = value
    if not fixes:
        return ()
    return ("[tacker]", *(f"{key} = {fixes[key]}" for key in fixes))


def _failure(
    subject: str, details: str, fix: tuple[str, str] | None = None
) -> Finding:
    return Finding(Code.FAILURE, subject, details, fix)


def _warning(
    subject: str, details: str, fix: tuple[str, str] | None = None
) -> Finding:
    return Finding(Code.WARNING, subject, details, fix)


def _success(subject: str, details: str) -> Finding:
    return Finding(Code.SUCCESS, subject, details)
