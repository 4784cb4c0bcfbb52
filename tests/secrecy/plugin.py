"""A test that shows a secret anywhere fails: a plug-in of all rooms.

Searched are the records of our loggers and those of the libraries below us,
at DEBUG, with the causes of errors; what the test printed, to which the
rooms add what programs of ours say; the arguments of programs that were
started; the files that our code wrote; and what an instance leaves in its
namespace beside its Secrets.
"""

from __future__ import annotations

from collections.abc import Generator
from collections.abc import Iterator
import pathlib
from typing import TYPE_CHECKING

import pytest

import tacker_k8s_cr as k8s_cr
from tests.secrecy import watch
from tests.secrecy.watch import Watch

if TYPE_CHECKING:
    from tacker_k8s_cr.cluster.protocol import Cluster

WATCH = pytest.StashKey[Watch]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "leaks: shows on purpose what looks like a secret"
    )
    config.stash[WATCH] = Watch()
    config.stash[WATCH].start()


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[WATCH].stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when != "teardown":
        return report
    found = item.config.stash[WATCH]
    for name, text in report.sections:
        if "log" not in name:
            found.look(name, text)
    if "kubectl" in getattr(item, "fixturenames", ()):
        for process, said in watch.processes().items():
            found.look(f"the arguments of {process}", said)
    leaks = found.found()
    meant = item.get_closest_marker("leaks")
    if leaks and report.passed and not meant:
        report.outcome = "failed"
        report.longrepr = "\n".join(["A secret is shown in:", *leaks])
    return report


@pytest.fixture(scope="session")
def shows(request: pytest.FixtureRequest) -> Watch:
    """Search a text that a test got from us: ``shows.look(where, text)``."""
    return request.config.stash[WATCH]


@pytest.fixture(scope="session")
def _onlooker(kubeconfig: pathlib.Path) -> Iterator[Cluster]:
    """The API server, to look at it beside the tests."""
    connected = k8s_cr.connect(kubeconfig=str(kubeconfig))
    yield connected
    connected.close()


@pytest.fixture(autouse=True)
def _nothing_secret_is_left(
    request: pytest.FixtureRequest,
) -> Iterator[None]:
    """Look at a test's namespace before it goes."""
    if not {"namespace", "kubectl"} <= set(request.fixturenames):
        yield
        return
    # Asked for here, it is torn down after this.
    namespace = request.getfixturevalue("namespace")
    cluster = request.getfixturevalue("_onlooker")
    yield
    # Imported here: a room without a cluster needs nothing of it.
    from tests.secrecy import left

    for where, text in left.beside_secrets(cluster, namespace):
        request.config.stash[WATCH].look(where, text)
