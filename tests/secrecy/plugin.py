"""A test that shows a secret anywhere fails: a plug-in of all suites.

Searched are the records of our loggers and those of the libraries below us, at
DEBUG, with the causes of errors; what the test printed, to which the suites
add the output of the project's programs; the arguments of programs that were
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
from tests.secrecy import search
from tests.secrecy.search import SecretSearch

if TYPE_CHECKING:
    from tacker_k8s_cr.kube.protocol import Cluster

WATCH = pytest.StashKey[SecretSearch]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "leaks: shows on purpose what looks like a secret"
    )
    config.stash[WATCH] = SecretSearch()
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
            found.search(name, text)
    if "kubectl" in getattr(item, "fixturenames", ()):
        for process, said in search.process_arguments().items():
            found.search(f"the arguments of {process}", said)
    leaks = found.findings()
    meant = item.get_closest_marker("leaks")
    if leaks and report.passed and not meant:
        report.outcome = "failed"
        report.longrepr = "\n".join(["A secret is shown in:", *leaks])
    return report


@pytest.fixture(scope="session")
def secret_search(request: pytest.FixtureRequest) -> SecretSearch:
    """Search a text that a test got from us: ``shows.search(where, text)``."""
    return request.config.stash[WATCH]


@pytest.fixture(scope="session")
def _admin_cluster(kubeconfig: pathlib.Path) -> Iterator[Cluster]:
    """The API server, for reads beside the tests."""
    connected = k8s_cr.connect(kubeconfig=str(kubeconfig))
    yield connected
    connected.close()


@pytest.fixture(autouse=True)
def _search_namespace(
    request: pytest.FixtureRequest,
) -> Iterator[None]:
    """Search a test's namespace before it is deleted."""
    if not {"namespace", "kubectl"} <= set(request.fixturenames):
        yield
        return
    # Asked for here, it is torn down after this.
    namespace = request.getfixturevalue("namespace")
    cluster = request.getfixturevalue("_admin_cluster")
    yield
    # Imported here: a suite without a cluster needs nothing of it.
    from tests.secrecy import written_texts

    for where, text in written_texts.texts_outside_secrets(cluster, namespace):
        request.config.stash[WATCH].search(where, text)
