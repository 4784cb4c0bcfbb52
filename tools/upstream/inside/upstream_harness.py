"""A plug-in of pytest that stands in for what the tests find in DevStack.

It changes no test and no assertion:

* keystoneauth's password plug-in becomes a token USER/PROJECT and the URL of
  the Tacker that runs (TACKER_URL);
* /etc/tacker/tacker.conf becomes the files of that Tacker (TACKER_RUN);
* clients of Heat, Glance, Cinder, Nova and Neutron are None, and the tests of
  two tenants make no networks in Neutron, which they do not use;
* operations are read every second instead of every three or five, except in
  one file;
* the setUp of one class calls the one of its base class, which it leaves out:
  testtools fails such a test, and Tacker's own jobs skip it;
* a test that takes longer than UPSTREAM_LIMIT seconds fails.

UPSTREAM_RESULTS names the file that gets a line of JSON for each test, without
the strings that UPSTREAM_SECRETS lists. UPSTREAM_SELECTED names the file that
gets the names of the selected tests; those in UPSTREAM_DONE do not run.
"""

from __future__ import annotations

from collections.abc import Generator
import importlib
import json
import os
import pathlib
import signal
import time
from types import FrameType
from typing import Any

from keystoneauth1 import token_endpoint
from keystoneauth1.identity import v3
from oslo_config import cfg
import pytest
import upstream_operations  # type: ignore[import-not-found]
import upstream_sweep  # type: ignore[import-not-found]
import upstream_tidy  # type: ignore[import-not-found]

URL = os.environ["TACKER_URL"]
CONF = pathlib.Path(os.environ["TACKER_RUN"]) / "conf"
LIMIT = float(os.environ["UPSTREAM_LIMIT"])
RESULTS = pathlib.Path(os.environ["UPSTREAM_RESULTS"])
SELECTED = pathlib.Path(os.environ["UPSTREAM_SELECTED"])
DONE = set(json.loads(os.environ["UPSTREAM_DONE"]))
SECRETS = json.loads(os.environ["UPSTREAM_SECRETS"])
ROOT = "tacker/tests/functional/"

CONFIGURATION = "/etc/tacker/tacker.conf"
PACED = (
    "base_v2",
    "sol.vnflcm.base",
    "sol_kubernetes.vnflcm.base",
    "sol_kubernetes_multi_tenant.vnflcm.base",
)
UNHURRIED = "test_kubernetes_multi_ns.py"
"""It scales out and in, and heals the Pod that it had before. Which of two
Pods a ReplicaSet deletes depends on their ages, and on chance when these are
nearly the same.
"""

CLIENTS = ("heat", "glance", "cinder", "nova", "neutron")


class Password(token_endpoint.Token):
    """A token without Keystone; its endpoint is always Tacker's."""

    def __init__(
        self,
        auth_url: str = "",
        username: str = "",
        project_name: str = "",
        **_more: Any,
    ):
        super().__init__(URL, f"{username}/{project_name}")


def _replace_keystone() -> None:
    v3.Password = Password  # type: ignore[misc, assignment]


def _replace_configuration() -> None:
    original = cfg.ConfigOpts.__call__

    def called(self: Any, args: Any = None, *more: Any, **named: Any) -> Any:
        if args == ["--config-file", CONFIGURATION]:
            paths = [CONF / "tacker.conf", CONF / "settings.conf"]
            args = [w for path in paths for w in ("--config-file", str(path))]
        return original(self, args, *more, **named)

    cfg.ConfigOpts.__call__ = called


def _none(cls: Any, *args: Any, **named: Any) -> None:
    return None


def _call_both(cls: Any, base: Any) -> None:
    """Let the setUp of a class call its base's, which it leaves out."""
    own = cls.setUp

    def both(self: Any) -> None:
        base.setUp(self)
        own(self)

    cls.setUp = both


def _module(name: str) -> Any:
    return importlib.import_module(f"tacker.tests.functional.{name}")


def _set_pace(seconds: float) -> None:
    """How often the tests read an operation."""
    for name in PACED:
        vars(_module(name))["RETRY_WAIT_TIME"] = seconds


def pytest_sessionstart(session: pytest.Session) -> None:
    base = _module("base")
    v1 = _module("sol_kubernetes.vnflcm.base")
    tenants = _module("sol_kubernetes_multi_tenant.vnflcm.base")
    openid = _module(
        "sol_kubernetes_oidc_auth.vnflcm_v1.test_kubernetes_oidc_auth"
    )
    for name in CLIENTS:
        setattr(base.BaseTackerTest, f"{name}client", classmethod(_none))
    session.stash[_BEFORE] = upstream_sweep.objects()
    tenants.BaseVnfLcmKubernetesMultiTenantTest.prepare_network = False
    _call_both(openid.VnfLcmKubernetesOidcTest, v1.BaseVnfLcmKubernetesTest)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Note what was selected; leave out what has its result already."""
    names = {item.nodeid: _name(item) for item in items}
    SELECTED.write_text(json.dumps(list(names.values())))
    left_out = [item for item in items if names[item.nodeid] in DONE]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if names[item.nodeid] not in DONE]


def _name(item: pytest.Item) -> str:
    return item.nodeid.removeprefix(ROOT)


_BEFORE = pytest.StashKey[dict[str, Any]]()

_replace_keystone()
_replace_configuration()

# -- What became of each test -------------------------------------------------

_FOUND = pytest.StashKey[dict[str, Any]]()
_BEGUN = pytest.StashKey[float]()
_SEEN = pytest.StashKey[set[str]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item,
) -> Generator[None, object, object]:
    item.stash[_SEEN] = upstream_operations.known()
    item.stash[_FOUND] = {
        "test": _name(item),
        "outcome": "passed",
    }
    item.stash[_BEGUN] = time.monotonic()
    _set_pace(5 if item.path.name == UNHURRIED else 1)
    result = yield
    found = item.stash[_FOUND]
    found["seconds"] = round(time.monotonic() - item.stash[_BEGUN], 1)
    operations = upstream_operations.since(item.stash[_SEEN])
    found.setdefault("operations", operations)
    with open(RESULTS, "a") as file:
        file.write(_masked(json.dumps(found)) + "\n")
    return result


def _masked(text: str) -> str:
    """Errors of Tacker's Helm driver hold the token of the VIM."""
    for secret in SECRETS:
        text = text.replace(secret, "***")
    return text


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(
    item: pytest.Item,
) -> Generator[None, None, None]:
    def late(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"the test did not end within {LIMIT:.0f} s")

    before = signal.signal(signal.SIGALRM, late)
    # Again and again: some of the tests' waits catch every exception.
    signal.setitimer(signal.ITIMER_REAL, LIMIT, 10)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    found = item.stash[_FOUND]
    if report.skipped:
        found["outcome"] = "skipped"
        found["error"] = _skipped(report)
    elif report.failed and call.excinfo and found["outcome"] != "failed":
        found["outcome"] = "failed"
        found["when"] = call.when
        found["error"] = str(call.excinfo.value) or call.excinfo.typename
        if call.when == "call":
            found["operations"] = upstream_operations.since(item.stash[_SEEN])
            upstream_tidy.settle()
            before = item.session.stash[_BEFORE]
            # An instance whose objects are deleted terminates at once.
            upstream_sweep.sweep(before, records=False)
            found["left"] = upstream_tidy.remove()
            found["left"] += upstream_sweep.sweep(before)
    return report


def _skipped(report: pytest.TestReport) -> str:
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return str(report.longrepr)
