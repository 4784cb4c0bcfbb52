"""Install the driver for Tacker's v2 API, which has no plug-ins.

Tacker's conductor has one name for the driver of a VIM of the type
ETSINFV.KUBERNETES.V_1. When Tacker loads the driver of v1, that name is bound
to this driver; Tacker's own module and class are not changed. Nothing is
bound unless all code that this relies on is as expected.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import functools
import importlib
from importlib import metadata
import inspect
import logging
import sys
import types
from typing import Any, NoReturn

from oslo_config import cfg

from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.model import errors

LOG = logging.getLogger(__name__)

DISPATCH = "tacker.sol_refactored.conductor.vnflcm_driver_v2"
"""Who calls a driver. Only the conductor has it, before it makes ours."""

UPSTREAM = "tacker.sol_refactored.infra_drivers.kubernetes.kubernetes"

_OPERATION = ("self", "req", "inst", "grant_req", "grant", "vnfd")

CALLS = {
    "instantiate": _OPERATION,
    "instantiate_rollback": _OPERATION,
    "terminate": _OPERATION,
    "scale": _OPERATION,
    "scale_rollback": _OPERATION,
    "heal": _OPERATION,
    "change_vnfpkg": _OPERATION,
    "change_vnfpkg_rollback": _OPERATION,
    "diff_check_inst": ("self", "inst", "vim_info"),
    "sync_db": ("self", "context", "vnf_instance", "vim_info"),
}
"""What Tacker 16.0.0 calls on a driver of v2, and upstream's arguments."""

CALLERS = frozenset(
    {
        "instantiate_process",
        "instantiate_rollback",
        "terminate_process",
        "scale_process",
        "scale_rollback",
        "heal_process",
        "change_vnfpkg_process",
        "change_vnfpkg_rollback",
        "sync_db",
        "diff_check_inst",
    }
)
"""The methods there that look up the driver by this name."""


def install() -> None:
    """Bind the name, in a conductor; repeated calls have no effect.

    If this is not safe, every v2 operation on such a VIM raises the reason.
    If not even that is possible, the conductor does not start: Tacker's own
    driver would silently omit custom resources.
    """
    dispatch = sys.modules.get(DISPATCH)
    if dispatch is None:
        return
    if isinstance(getattr(dispatch, "kubernetes", None), DriverModule):
        return
    try:
        if not configuration.settings().v2:
            _log_disabled()
            return
        configuration.export_config()
        check(dispatch)
        own = importlib.import_module("tacker_k8s_cr.driver.v2.driver")
        driver = own.KubernetesCrV2
    except (cfg.Error, ValueError, ImportError, errors.Error) as error:
        _refuse(dispatch, str(error))
        return
    dispatch.kubernetes = DriverModule(driver)  # type: ignore[attr-defined]
    LOG.info(
        "kubernetes_cr %s serves the v2 API of Tacker %s on VIMs of the type "
        "ETSINFV.KUBERNETES.V_1; VNF instances of Tacker's own driver stay "
        "with it",
        _version("tacker-k8s-cr"),
        _version("tacker"),
    )


class DriverModule(types.SimpleNamespace):
    """The object that replaces the module: the part that Tacker uses."""

    def __init__(self, driver: Callable[[], Any]) -> None:
        super().__init__(Kubernetes=driver)


class UnavailableDriver:
    """A driver whose operations all raise the reason."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        if name not in CALLS:
            raise AttributeError(name)

        def refuse(*_: Any, **__: Any) -> NoReturn:
            exceptions = importlib.import_module(
                "tacker.sol_refactored.common.exceptions"
            )
            raise exceptions.SolHttpError503(sol_detail=self._why)

        return refuse


# -- What has to be as it is known -------------------------------------------


@dataclasses.dataclass(eq=False)
class UnsupportedTackerVersion(errors.Error):
    """The conductor of this Tacker differs from the tested versions."""

    faults: Sequence[str]

    def sentence(self) -> str:
        head = f"Tacker {_version('tacker')} is not known to this version:"
        return "\n  ".join([head, *self.faults])


def check(dispatch: types.ModuleType) -> None:
    """Raise UnsupportedTackerVersion unless all is as in Tacker 16.0.0."""
    faults = [*_faults_of_callers(dispatch), *_faults_of_upstream(dispatch)]
    if faults:
        raise UnsupportedTackerVersion(tuple(faults))


def _faults_of_callers(dispatch: types.ModuleType) -> list[str]:
    names = list_callers(dispatch)
    return [
        *(
            f"{DISPATCH}: {name} does not use kubernetes.Kubernetes"
            for name in sorted(CALLERS - names)
        ),
        *(
            f"{DISPATCH}: {name} is new, and uses kubernetes.Kubernetes"
            for name in sorted(names - CALLERS)
        ),
    ]


def _faults_of_upstream(dispatch: types.ModuleType) -> list[str]:
    module = getattr(dispatch, "kubernetes", None)
    name = getattr(module, "__name__", None)
    if not isinstance(module, types.ModuleType) or name != UPSTREAM:
        return [f"{DISPATCH}.kubernetes: wanted {UPSTREAM}, found {module!r}"]
    driver = getattr(module, "Kubernetes", None)
    if not inspect.isclass(driver):
        return [f"{UPSTREAM} has no class Kubernetes"]
    return [
        f"{UPSTREAM}.Kubernetes.{call}: wanted ({', '.join(expected)}), found "
        f"{_shown(found)}"
        for call, expected in CALLS.items()
        if (found := _arguments(driver, call)) != expected
    ]


def list_callers(dispatch: types.ModuleType) -> frozenset[str]:
    """Return the methods that look up the driver by the bound name."""
    found = vars(getattr(dispatch, "VnfLcmDriverV2", object))
    return frozenset(
        name
        for name, method in found.items()
        if inspect.isfunction(inspect.unwrap(method))
        and {"kubernetes", "Kubernetes"}
        <= set(inspect.unwrap(method).__code__.co_names)
    )


def _arguments(driver: type, call: str) -> tuple[str, ...] | None:
    method = getattr(driver, call, None)
    return tuple(inspect.signature(method).parameters) if method else None


def _shown(arguments: tuple[str, ...] | None) -> str:
    return "nothing" if arguments is None else f"({', '.join(arguments)})"


# -- What is said ------------------------------------------------------------


def _refuse(dispatch: types.ModuleType, why: str) -> None:
    message = (
        f"kubernetes_cr cannot serve the v2 API of this conductor:\n{why}\n"
        "With the option [tacker_k8s_cr] v2 = false, Tacker's own driver "
        "serves it."
    )
    LOG.error("%s", message)
    if not list_callers(dispatch) >= CALLERS:
        # Not all callers would use what the name is bound to.
        # stevedore logs an exception of a plug-in and goes on without it,
        # but lets this pass.
        raise SystemExit(message)
    dispatch.kubernetes = DriverModule(  # type: ignore[attr-defined]
        functools.partial(UnavailableDriver, message)
    )


@functools.cache
def _log_disabled() -> None:
    LOG.info(
        "[tacker_k8s_cr] v2 is false: Tacker's own driver serves the v2 API"
    )


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "of an unknown version"
