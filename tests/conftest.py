"""The cluster that tests use, and what becomes of those that it cannot run.

KUBECONFIG names a cluster; unset, it is the local plane, which is started if
it does not run, and ended then.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import os
import pathlib
import uuid

import hypothesis
import pytest

from tools import plane
from tools.plane import signals
from tools.plane import target
from tools.plane.kubectl import Kubectl
from tools.plane.target import Target
from tools.requirements import rows

pytest_plugins = ["tests.secrecy.plugin"]

# The speed of generation is not checked: the first run in a clone writes
# hypothesis' own tables, and a machine may be busy. What one run does not find
# the next may: --hypothesis-profile=long searches longer.
for profile, examples in (("house", 50), ("long", 2000)):
    hypothesis.settings.register_profile(
        profile,
        deadline=None,
        max_examples=examples,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("house")

_STARTED = pytest.StashKey[bool]()

NEEDS = ("capi", "stages", "root")
"""Markers of features that a cluster may not have; tests are then skipped.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--need",
        default="",
        metavar="MARKER,...",
        help="fail, where one would skip, tests with these markers",
    )


def pytest_configure(config: pytest.Config) -> None:
    """A signal that ends a run lets it remove what it started.

    pytest does so for Ctrl-C alone; a job that is cancelled gets SIGTERM.
    """
    ending = contextlib.ExitStack()
    ending.enter_context(signals.raise_interrupts())
    config.add_cleanup(ending.close)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Fail the collection if a test claims a requirement without a row.

    :raises pytest.UsageError: a marker has an id that no row has.
    """
    for item in items:
        for mark in item.iter_markers("requirement"):
            if strange := set(mark.args) - rows.known():
                raise pytest.UsageError(
                    f"{item.nodeid}: no requirement has the id "
                    f"{', '.join(sorted(map(str, strange)))}; see "
                    f"{rows.FILE.relative_to(rows.ROOT)}"
                )


def pytest_sessionstart(session: pytest.Session) -> None:
    """Start the plane for all workers, where there are several.

    Each of them finds it running then, and leaves it.
    """
    if getattr(session.config.option, "numprocesses", None):
        found = target.choose(os.environ)
        session.config.stash[_STARTED] = found.can_start and plane.ensure()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End what was started for the workers."""
    if session.config.stash.get(_STARTED, False):
        plane.down()


@pytest.fixture(scope="session")
def target_cluster() -> Iterator[Target]:
    """The cluster of this run of pytest; it answers."""
    found = target.choose(os.environ)
    started = found.can_start and plane.ensure()
    yield found
    if started:
        plane.down()


@pytest.fixture(scope="session")
def missing_features(target_cluster: Target) -> dict[str, str]:
    """Features that the cluster does not have, and the evidence."""
    return target.find_missing_features(target_cluster)


@pytest.fixture(scope="session")
def skip_or_fail(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Skip the test for a reason, or fail it if it was meant to run."""

    def _lack(what: str, reason: str) -> None:
        if what in request.config.getoption("--need").split(","):
            pytest.fail(f"{what} is needed, but {reason}", pytrace=False)
        pytest.skip(reason)

    return _lack


@pytest.fixture(autouse=True)
def _runnable(
    request: pytest.FixtureRequest, skip_or_fail: Callable[[str, str], None]
) -> None:
    """Holds back a test for which something is missing."""
    needs = [n for n in NEEDS if request.node.get_closest_marker(n)]
    if "root" in needs and os.getuid():
        skip_or_fail("root", "this user is not root")
    if {"capi", "stages"} & set(needs):
        missing = request.getfixturevalue("missing_features")
        for what in needs:
            if what in missing:
                skip_or_fail(what, missing[what])


@pytest.fixture(scope="session")
def kubeconfig(target_cluster: Target) -> pathlib.Path:
    """An administrator's kubeconfig for the cluster."""
    return target_cluster.kubeconfig


@pytest.fixture(scope="session")
def kubectl(target_cluster: Target) -> Kubectl:
    """kubectl for the cluster: call it with arguments."""
    return target.kubectl(target_cluster)


@pytest.fixture
def namespace(kubectl: Kubectl) -> Iterator[str]:
    """A namespace for one test; deleted afterwards with all in it."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")
