"""The room of faults: what its tests share, and the table at its end."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from tests.faults import figures
from tests.faults.own import faults as faults
from tests.faults.own import own_namespaces as own_namespaces
from tests.faults.own import own_plane as own_plane
from tests.faults.own import own_token as own_token
from tests.faults.own import straight as straight
from tests.functional.conftest import cluster as cluster
from tests.functional.conftest import deadline as deadline
from tests.functional.conftest import packed as packed
from tests.functional.conftest import traces as traces
from tests.functional.conftest import unique as unique

_ROWS = pytest.StashKey[list[figures.Row]]()
_SENT = "faults"
"""Under which a worker sends its rows."""


@pytest.fixture(scope="session")
def table(request: pytest.FixtureRequest) -> list[figures.Row]:
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
        rows.append(figures.Row(*values))


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
        for line in figures.table(rows):
            terminalreporter.write_line(line)
