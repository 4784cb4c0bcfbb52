"""The suites: how each is run, and what it covers."""

from __future__ import annotations

import dataclasses

PRODUCT = (
    "tacker_k8s_cr",
    "mgmt_drivers",
    "samples",
    "setup.cfg",
    "requirements.txt",
)
"""What every suite installs or runs."""

COMMAND_LINE = (":(exclude)tacker_k8s_cr/cli",)
RUNS = ":(exclude)doc/source/reference/suite_runs.json"
"""The suites' own results; to commit them makes no result outdated."""

DRIVERS = (":(exclude)tacker_k8s_cr/driver", ":(exclude)mgmt_drivers")


@dataclasses.dataclass(frozen=True)
class Suite:
    """A target of the Makefile.

    :param name: the target.
    :param covers: git pathspecs. A result counts as long as no file that
        they select has changed since.
    :param arguments: for the target, such as ``MINUTES=60``.
    """

    name: str
    covers: tuple[str, ...]
    arguments: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """The command that runs the suite at the top of a checkout."""
        return ("make", self.name, *self.arguments)


def _suite(name: str, *covers: str, arguments: tuple[str, ...] = ()) -> Suite:
    return Suite(name, (*PRODUCT, "tools/plane", *covers), arguments)


SUITES = (
    # These check the whole tree, including the documentation.
    Suite("check", (".", RUNS)),
    Suite(
        "test",
        (".", RUNS, ":(exclude)releasenotes", ":(exclude)tests/e2e"),
    ),
    _suite("e2e", "tests/*.py", "tests/e2e", "tools/tacker"),
    _suite("upstream", "tools/upstream", "tools/tacker"),
    _suite("faults", "tests/*.py", "tests/faults", "tools/faults", *DRIVERS),
    _suite("demo", "tools/demo"),
    _suite("management", "tests/management", "tools/management"),
    _suite("bench", "tools/bench", *DRIVERS),
    _suite("bench-tacker", "tools/bench_tacker", "tools/tacker"),
    _suite(
        "soak",
        "tests/*.py",
        "tests/soak",
        "tools/soak",
        *DRIVERS,
        *COMMAND_LINE,
        arguments=("MINUTES=60",),
    ),
)
