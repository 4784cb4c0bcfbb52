"""What is right and wrong with an installation, from what was seen of it."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum
import re

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


class Level(enum.Enum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"
    FINE = "fine"


@dataclasses.dataclass(frozen=True)
class Finding:
    """One sentence on one part of an installation.

    :param fix: the option that would mend it, and the value to give it.
    """

    level: Level
    subject: str
    what: str
    fix: tuple[str, str] | None = None


@dataclasses.dataclass(frozen=True)
class Driver:
    """What became of loading a driver, as Tacker does it.

    :param type: what it says of itself; empty where it was not loaded.
    :param error: why it was not.
    :param hash: SHA-256 of the file that its class is in.
    """

    name: str
    type: str = ""
    error: str = ""
    hash: str = ""


@dataclasses.dataclass(frozen=True)
class Versions:
    """Empty where something is not installed."""

    python: tuple[int, int]
    ours: str
    tacker: str
    client: str


@dataclasses.dataclass(frozen=True)
class Carried:
    """A management driver's file in a package that was uploaded.

    :param hash: empty where the file is not in the package.
    """

    package: str
    driver: str
    file: str
    hash: str


@dataclasses.dataclass(frozen=True)
class Unfinished:
    """An operation that failed, and waits for a decision."""

    api: str
    occurrence: str
    operation: str
    instance: str


def of_versions(found: Versions) -> Iterator[Finding]:
    python = ".".join(map(str, found.python))
    if found.python < OLDEST_PYTHON:
        yield _error("Python", f"{python}; wanted: 3.10 or later")
    else:
        yield _fine("Python", python)
    yield _fine("tacker-k8s-cr", found.ours)
    if not found.tacker:
        yield _error(
            "Tacker",
            "is not installed in this environment; wanted: the environment "
            "that runs tacker-conductor and tacker-server",
        )
    elif found.tacker not in KNOWN_TACKERS:
        yield _warning(
            "Tacker",
            f"{found.tacker} is not known to this version, which was tested "
            f"with {', '.join(KNOWN_TACKERS)}",
        )
    else:
        yield _fine("Tacker", found.tacker)
    major = re.match(r"\d+", found.client)
    if major is None or int(major.group()) < OLDEST_CLIENT:
        yield _error(
            "kubernetes (Python)",
            f"{found.client or 'not installed'}; wanted: {OLDEST_CLIENT} or "
            "later",
        )
    else:
        yield _fine("kubernetes (Python)", found.client)


def of_infra(
    option: str, names: Sequence[str], drivers: Mapping[str, Driver]
) -> Iterator[Finding]:
    """Which driver an option leads Tacker to, for a Kubernetes VIM.

    :param drivers: those that are named, by name.
    """
    subject = f"[tacker] {option}"
    loaded = [drivers[name] for name in names if drivers[name].type]
    of_type = [driver.name for driver in loaded if driver.type == TYPE]
    for name in names:
        if drivers[name].error:
            yield _error(subject, f"{name}: {drivers[name].error}")
    types = [driver.type for driver in loaded]
    for twice in sorted({kind for kind in types if types.count(kind) > 1}):
        both = [driver.name for driver in loaded if driver.type == twice]
        yield _error(
            subject,
            f"{' and '.join(both)} are both of the type {twice}: the services "
            "do not start (KeyError: <class 'type'>)",
            (option, _mended(names)),
        )
    if len(of_type) > 1:
        return
    if of_type == [OURS]:
        yield _fine(subject, f"VIMs of the type {TYPE} get {OURS}")
    elif OURS not in names:
        yield _error(
            subject,
            f"VIMs of the type {TYPE} get {of_type[0] if of_type else 'none'}"
            f"; wanted: {OURS}. {_CONSEQUENCE[option]}",
            (option, _mended(names)),
        )


_CONSEQUENCE = {
    "vnflcm_infra_driver": "Instantiations go to that driver",
    "infra_driver": "Every operation after the first scale goes to that "
    "driver, of instances that are ours too",
}


def _mended(names: Sequence[str]) -> str:
    kept = [name for name in names if name not in (OURS, THEIRS)]
    return ",".join([*kept, OURS])


def of_v2(
    wanted: bool, named: bool, faults: Sequence[str]
) -> Iterator[Finding]:
    """Whether the v2 API will have this driver.

    :param named: an option for v1 has it: only then Tacker loads it.
    :param faults: what is not as it is known to be in this Tacker.
    """
    subject = "v2 API"
    if not wanted:
        yield _warning(
            subject,
            "[tacker_k8s_cr] v2 is false: VIMs of Kubernetes get Tacker's own "
            "driver, which leaves out custom resources in silence",
        )
    for fault in faults:
        yield _error(subject, fault)
    if wanted and not named:
        yield _error(
            subject,
            f"is not served: no option for v1 has {OURS}, and only with them "
            "it is loaded",
        )
    elif wanted and not faults:
        yield _fine(subject, f"VIMs of Kubernetes get {OURS}")


def of_management(
    names: Sequence[str], drivers: Mapping[str, Driver]
) -> Iterator[Finding]:
    """The management drivers of v1, which are loaded by name and type."""
    subject = f"[tacker] {MANAGEMENT}"
    for name in names:
        driver = drivers[name]
        if driver.error:
            yield _error(subject, f"{name}: {driver.error}")
        elif driver.type != name:
            yield _error(
                subject,
                f"{name} says that its type is {driver.type}: the services "
                "do not start (KeyError)",
            )
    if DELIVERY in names:
        yield _fine(subject, f"has {DELIVERY}")
    else:
        yield _warning(
            subject,
            f"does not have {DELIVERY}: v1 packages that name it are refused",
            (MANAGEMENT, ",".join([*names, DELIVERY])),
        )


def of_packages(
    carried: Iterable[Carried],
    names: Sequence[str],
    drivers: Mapping[str, Driver],
) -> Iterator[Finding]:
    """Tacker refuses a v1 package whose copy of a driver is not the same.

    Names that are no installed driver of v1 are those of scripts for v2.
    """
    agree = 0
    for item in carried:
        subject = f"package {item.package}"
        driver = drivers.get(item.driver)
        if driver is None or not driver.hash:
            continue
        if not item.hash:
            yield _error(subject, f"names {item.file}, which it does not have")
        elif item.hash != driver.hash:
            yield _error(
                subject,
                f"{item.file} is not the installed {item.driver}: v1 "
                "operations of its instances fail. Wanted: the package built "
                "anew, or the version of tacker-k8s-cr that it was built with",
            )
        elif item.driver not in names:
            yield _error(
                subject,
                f"needs {item.driver}, which [tacker] {MANAGEMENT} does not "
                "have",
                (MANAGEMENT, ",".join([*names, item.driver])),
            )
        else:
            agree += 1
    if agree:
        yield _fine("packages", f"{agree} carry the installed driver's file")


def of_unfinished(operations: Iterable[Unfinished]) -> Iterator[Finding]:
    """Whoever began an operation should end it."""
    for item in operations:
        yield _warning(
            f"{item.api} operation {item.occurrence}",
            f"{item.operation} of the instance {item.instance} is in "
            "FAILED_TEMP: retry it, roll it back or fail it before drivers "
            "are switched",
        )


def lines(found: Iterable[Finding]) -> tuple[str, ...]:
    """What to write into the configuration file to mend what can be."""
    fixes: dict[str, str] = {}
    for option, value in (item.fix for item in found if item.fix):
        if option in fixes:
            more = [v for v in value.split(",") if v not in fixes[option]]
            value = ",".join([fixes[option], *more])
        fixes[option] = value
    if not fixes:
        return ()
    return ("[tacker]", *(f"{key} = {fixes[key]}" for key in fixes))


def _error(
    subject: str, what: str, fix: tuple[str, str] | None = None
) -> Finding:
    return Finding(Level.ERROR, subject, what, fix)


def _warning(
    subject: str, what: str, fix: tuple[str, str] | None = None
) -> Finding:
    return Finding(Level.WARNING, subject, what, fix)


def _fine(subject: str, what: str) -> Finding:
    return Finding(Level.FINE, subject, what)
