"""The configurations of Tacker that the tests run with.

All options that differ from a plain installation are in this module.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

from tools.upstream.errors import UpstreamError


@dataclasses.dataclass(frozen=True)
class Option:
    """One option of the configuration, and the reason for its value."""

    name: str
    value: str
    reason: str

    @property
    def pair(self) -> tuple[str, str]:
        return (self.name, self.value)


COMPATIBILITY = (
    Option(
        "tacker_k8s_cr.insecure",
        "true",
        "Most requests of the tests contain no ssl_ca_cert. Tacker's own "
        "driver then does not verify the API server's certificate.",
    ),
    Option(
        "tacker_k8s_cr.allow_http_manifests",
        "true",
        "One package names a manifest by an http URL.",
    ),
    Option(
        "tacker_k8s_cr.readiness_exists",
        "HorizontalPodAutoscaler.autoscaling",
        "One package contains a HorizontalPodAutoscaler whose scale target "
        "does not exist. Tacker's own driver does not wait for this kind.",
    ),
    Option(
        "tacker_k8s_cr.namespace_mode",
        "force",
        "Manifests of two packages name another namespace than the request. "
        "Tacker's own driver creates every object in that of the request.",
    ),
)
"""Without these, our driver is stricter than Tacker's own."""

JOBS = (
    Option("vnf_lcm.test_callback_uri", "true", ""),
    Option("v2_nfvo.test_callback_uri", "true", ""),
    Option("prometheus_plugin.fault_management", "true", ""),
    Option("prometheus_plugin.performance_management", "true", ""),
    Option("prometheus_plugin.auto_scaling", "true", ""),
    Option("prometheus_plugin.auto_healing", "true", ""),
    Option(
        "database.max_overflow",
        "300",
        "Tacker's jobs set max_pool_size to 0, which means no limit.",
    ),
)
"""What the jobs of Tacker's continuous integration set, except promtool."""

TIME_LIMITS = (
    Option(
        "v2_vnfm.kubernetes_vim_rsc_wait_timeout",
        "120",
        "Tests that expect a failure of Tacker's own driver wait for it.",
    ),
    Option("kubernetes_vim.stack_retries", "30", "The same, version 1."),
)

OUR_TIME_LIMITS = (
    *(
        Option(
            f"tacker_k8s_cr.{operation}_timeout",
            "60",
            "Tests that expect a failure wait for it.",
        )
        for operation in (
            "instantiate",
            "scale",
            "heal",
            "change",
            "terminate",
        )
    ),
    Option("tacker_k8s_cr.stall_timeout", "30", "The same."),
)
"""They make expected failures faster, and change no outcome."""


@dataclasses.dataclass(frozen=True)
class Column:
    """One configuration of Tacker: a column of the table.

    :param driver: the infrastructure driver.
    """

    name: str
    title: str
    driver: str
    options: tuple[Option, ...]

    @property
    def is_project_driver(self) -> bool:
        return self.driver == OURS

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        options = (*JOBS, *TIME_LIMITS, *self.options)
        return tuple(option.pair for option in options)


OURS = "kubernetes_cr"
THEIRS = "kubernetes"

COLUMNS = (
    Column("defaults", "ours, defaults", OURS, OUR_TIME_LIMITS),
    Column(
        "compatible",
        "ours, compatible",
        OURS,
        (*OUR_TIME_LIMITS, *COMPATIBILITY),
    ),
    Column("tacker", "Tacker's own", THEIRS, ()),
)


def choose(
    names: Sequence[str], drivers: Sequence[str] = ()
) -> tuple[Column, ...]:
    """The columns with these names or drivers; all without any."""
    known = [column.name for column in COLUMNS]
    if unknown := [name for name in names if name not in known]:
        raise UpstreamError(
            f"unknown column {', '.join(unknown)}; expected one of "
            f"{', '.join(known)}"
        )
    if unknown := [name for name in drivers if name not in (OURS, THEIRS)]:
        raise UpstreamError(
            f"unknown driver {', '.join(unknown)}; expected {OURS} or {THEIRS}"
        )
    return tuple(
        column
        for column in COLUMNS
        if (not names or column.name in names)
        and (not drivers or column.driver in drivers)
    )
