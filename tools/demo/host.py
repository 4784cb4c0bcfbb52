"""The driver, found as Tacker's conductor finds it."""

from __future__ import annotations

import warnings

NAMESPACE = "tacker.tacker.vnfm.drivers"
NAME = "kubernetes_cr"


def find_driver() -> str:
    """Load the driver by its entry point, and say by whom."""
    with warnings.catch_warnings():
        # Tacker and what it rests on warn about themselves.
        warnings.simplefilter("ignore")
        try:
            from tacker.common import driver_manager
        except ImportError:
            return _without_tacker()
        drivers = driver_manager.DriverManager(NAMESPACE, [NAME])
    driver = drivers["kubernetes"]
    return (
        f"{type(driver).__module__}:{type(driver).__name__} for VIMs of "
        "type kubernetes, by Tacker's own DriverManager"
    )


def _without_tacker() -> str:
    from stevedore import driver

    loaded = driver.DriverManager(NAMESPACE, NAME).driver
    return f"{loaded.__module__}:{loaded.__name__}; Tacker is not installed"
