"""Tacker as its own processes have it: imported and configured."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import importlib
from typing import Any
import warnings

MODULES = (
    "tacker.common.driver_manager",
    "tacker.context",
    "tacker.db.nfvo.nfvo_db",
    "tacker.objects",
    "tacker.vnflcm.utils",
    "tacker.vnfm.infra_drivers.abstract_driver",
    "tacker.vnfm.infra_drivers.scale_driver",
    "tacker.vnfm.mgmt_drivers.vnflcm_noop",
)


def load() -> None:
    """Import what the tests use of Tacker, which warns about itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in MODULES:
            importlib.import_module(name)
        importlib.import_module("tacker.objects").register_all()


@contextlib.contextmanager
def configured(**options: Any) -> Iterator[Any]:
    """The options of an empty configuration file, but for some of ours."""
    load()
    from oslo_config import cfg

    from tacker_k8s_cr.driver import conf

    cfg.CONF([], project="tacker", default_config_files=[])
    conf.settings()
    for name, value in options.items():
        cfg.CONF.set_override(name, value, conf.GROUP.name)
    try:
        yield cfg.CONF
    finally:
        for name in options:
            cfg.CONF.clear_override(name, conf.GROUP.name)
        cfg.CONF.reset()
