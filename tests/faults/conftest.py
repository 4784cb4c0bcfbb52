"""The room of faults: what its tests share, and the table at its end."""

from __future__ import annotations

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


@pytest.fixture(scope="session")
def table(request: pytest.FixtureRequest) -> list[figures.Row]:
    """Rows of the table that is printed at the end; to be added to."""
    return request.config.stash.setdefault(_ROWS, [])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    rows = config.stash.get(_ROWS, [])
    if rows:
        terminalreporter.section("faults")
        for line in figures.table(rows):
            terminalreporter.write_line(line)
