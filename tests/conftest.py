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
from tools.plane import interrupts
from tools.plane import target
from tools.plane.kubectl import Kubectl
from tools.plane.target import Target

pytest_plugins = ["tests.secrecy.plugin"]

# How fast values are made says nothing about us: the first run in a clone
# writes hypothesis' own tables, and a machine may be busy. What one run does
# not find the next may: --hypothesis-profile=long looks for longer.
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
"""Markers of what a cluster or a user may lack. Tests are skipped then,
unless --need says that they were meant to run."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--need",
        default="",
        metavar="MARKER,...",
        help="fail, where one would skip, tests with these markers",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Whoever ends a run lets it put away what it started.

    pytest does so for Ctrl-C alone; a job that is cancelled gets SIGTERM.
    """
    ending = contextlib.ExitStack()
    ending.enter_context(interrupts.raised())
    config.add_cleanup(ending.close)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Start the plane for all workers, where there are several.

    Each of them finds it running then, and leaves it.
    """
    if getattr(session.config.option, "numprocesses", None):
        found = target.choose(os.environ)
        session.config.stash[_STARTED] = found.startable and plane.ensure()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End what was started for the workers."""
    if session.config.stash.get(_STARTED, False):
        plane.down()


@pytest.fixture(scope="session")
def chosen() -> Iterator[Target]:
    """The cluster of this run of pytest; it answers."""
    found = target.choose(os.environ)
    started = found.startable and plane.ensure()
    yield found
    if started:
        plane.down()


@pytest.fixture(scope="session")
def missing(chosen: Target) -> dict[str, str]:
    """What the cluster lacks, and how that shows."""
    return target.missing(chosen)


@pytest.fixture(scope="session")
def lack(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Skip the test for a reason, or fail it if it was meant to run."""

    def _lack(what: str, reason: str) -> None:
        if what in request.config.getoption("--need").split(","):
            pytest.fail(f"{what} is needed, but {reason}", pytrace=False)
        pytest.skip(reason)

    return _lack


@pytest.fixture(autouse=True)
def _runnable(
    request: pytest.FixtureRequest, lack: Callable[[str, str], None]
) -> None:
    """Holds back a test for which something is missing."""
    needs = [n for n in NEEDS if request.node.get_closest_marker(n)]
    if "root" in needs and os.getuid():
        lack("root", "this user is not root")
    if {"capi", "stages"} & set(needs):
        missing = request.getfixturevalue("missing")
        for what in needs:
            if what in missing:
                lack(what, missing[what])


@pytest.fixture(scope="session")
def kubeconfig(chosen: Target) -> pathlib.Path:
    """An administrator's kubeconfig for the cluster."""
    return chosen.kubeconfig


@pytest.fixture(scope="session")
def kubectl(chosen: Target) -> Kubectl:
    """kubectl for the cluster: call it with arguments."""
    return target.kubectl(chosen)


@pytest.fixture
def namespace(kubectl: Kubectl) -> Iterator[str]:
    """A namespace of the test's own; it goes afterwards with all in it."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")
