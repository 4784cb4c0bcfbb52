"""The suite of faults: what its tests share, and the table at its end."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from tests.faults import result_table
from tests.faults.fault_plane import admin_token as admin_token
from tests.faults.fault_plane import direct_cluster as direct_cluster
from tests.faults.fault_plane import fault_plane as fault_plane
from tests.faults.fault_plane import faults as faults
from tests.faults.fault_plane import two_namespaces as two_namespaces
from tests.functional.conftest import cluster as cluster
from tests.functional.conftest import deadline as deadline
from tests.functional.conftest import leftover_objects as leftover_objects
from tests.functional.conftest import make_package as make_package
from tests.functional.conftest import unique_name as unique_name

_ROWS = pytest.StashKey[list[result_table.Row]]()
_SENT = "faults"
"""Under which a worker sends its rows."""


@pytest.fixture(scope="session")
def table(request: pytest.FixtureRequest) -> list[result_table.Row]:
    """Rows of the table that is printed at the end; to be added to."""
    return request.config.stash.setdefault(_ROWS, [])


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker hands its rows over."""
    config = session.config
    if hasattr(config, "workeroutput"):
        rows = map(dataclasses.astuple, config.stash.get(_ROWS, []))
        config.workeroutput[_SENT] = list(rows)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Take over the rows of a worker that has ended."""
    rows = node.config.stash.setdefault(_ROWS, [])
    for values in getattr(node, "workeroutput", {}).get(_SENT, []):
        rows.append(result_table.Row(*values))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """The table; all numbers of it are in build/faults.json too."""
    rows = config.stash.get(_ROWS, [])
    if rows:
        path = config.rootpath / "build" / "faults.json"
        path.parent.mkdir(exist_ok=True)
        plain = [dataclasses.asdict(row) for row in rows]
        path.write_text(json.dumps(plain, indent=1) + "\n")
        terminalreporter.section("faults")
        for line in result_table.format_table(rows):
            terminalreporter.write_line(line)
