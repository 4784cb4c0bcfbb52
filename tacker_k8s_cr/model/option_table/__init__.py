"""Every option, once: tacker.conf, requests, commands and pages use this."""

from __future__ import annotations

from tacker_k8s_cr.model.option_table import changes
from tacker_k8s_cr.model.option_table import connection
from tacker_k8s_cr.model.option_table import content
from tacker_k8s_cr.model.option_table import delivery
from tacker_k8s_cr.model.option_table import termination
from tacker_k8s_cr.model.option_table import writes
from tacker_k8s_cr.model.option_table.option import Option

ROWS: tuple[Option, ...] = (
    *content.TACKER,
    *content.CONTENT,
    *content.POLICY,
    *connection.DURATIONS,
    *changes.MEMBERS,
    *changes.STRATEGIES,
    *writes.WRITES,
    *writes.OWNERSHIP,
    *termination.PERIOD,
    *termination.TERMINATION,
    *delivery.DELIVERY,
    *delivery.RECEIVER,
    *delivery.DRIVER,
    *connection.CONNECTION,
)


def conf_options() -> tuple[Option, ...]:
    """Return what tacker.conf has."""
    return tuple(row for row in ROWS if row.conf)


def request_options() -> tuple[Option, ...]:
    """Return what the additionalParams of some request have."""
    return tuple(row for row in ROWS if row.request)


def command_options(command: str) -> tuple[Option, ...]:
    """Return what a command has."""
    return tuple(row for row in ROWS if command in row.commands)
