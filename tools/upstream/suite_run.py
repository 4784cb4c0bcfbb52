"""Runs a suite in a process of its own, and reports each test as it ends."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import time

from tools.tacker import configuration
from tools.upstream import failure_reasons
from tools.upstream.column_environment import SERVICES
from tools.upstream.column_environment import SuiteEnvironment
from tools.upstream.results import FAILED
from tools.upstream.results import Result
from tools.upstream.results import Store
from tools.upstream.suites import Suite

INSIDE = pathlib.Path(__file__).resolve().parent / "inside"
PAUSE = 0.2

_NO_TEST = 5
"""pytest's exit status when it selected no test."""

PrintLine = Callable[[str], object]


def harness() -> str:
    """A digest of what runs inside of pytest and of Tacker's services."""
    found = hashlib.sha256()
    for folder in (INSIDE, SERVICES):
        for path in sorted(folder.rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


def run(
    environment: SuiteEnvironment,
    suite: Suite,
    store: Store,
    selected: Sequence[str],
    done: Collection[str],
    print_line: PrintLine,
) -> str:
    """Run a suite; why it ended before its last test, if it did.

    :param selected: more arguments of pytest, that select tests.
    :param done: tests that have their result already.
    """
    log = store.log(suite.name)
    path = store.path(suite.name)
    place = path.stat().st_size if path.exists() else 0
    with open(log, "a") as file:
        process = subprocess.Popen(
            [str(environment.python), *_arguments(suite, selected)],
            cwd=environment.source,
            env=_environ(environment, suite, store, done),
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        while True:
            ended = process.poll() is not None
            added, place = store.since(suite.name, place)
            for result in added:
                print_line(f"    {line(result)}")
            if ended:
                break
            time.sleep(PAUSE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        _mask(log, environment.services.secrets)
    if process.returncode in (0, 1, _NO_TEST):
        return ""
    return f"pytest ended with {process.returncode}; see {log}"


def line(result: Result) -> str:
    """A result, for the process that waits for it."""
    text = f"{result.outcome:8} {result.seconds:6.1f} s  {short(result.test)}"
    if result.outcome == FAILED:
        text += f"\n             {failure_reasons.reason(result)[:300]}"
    return text


def short(test: str) -> str:
    """The file and the name of a test."""
    path, _, name = test.partition("::")
    return f"{pathlib.PurePosixPath(path).stem}::{name.rpartition('::')[2]}"


def _arguments(suite: Suite, selected: Sequence[str]) -> list[str]:
    return [
        *("-W", "ignore", "-m", "pytest", "-p", "upstream_harness"),
        *("-p", "no:cacheprovider", "-rA", "--tb=short"),
        *selected,
        *suite.arguments,
    ]


def _mask(log: pathlib.Path, secrets: Sequence[str]) -> None:
    text = log.read_text(errors="replace")
    for secret in secrets:
        text = text.replace(secret, "***")
    log.write_text(text)


def _environ(
    environment: SuiteEnvironment,
    suite: Suite,
    store: Store,
    done: Collection[str],
) -> dict[str, str]:
    kubectl = environment.services.cluster.kubectl
    command = f"{kubectl.program} --kubeconfig={kubectl.kubeconfig}"
    return {
        "HOME": str(environment.host.folders.run),
        "LC_ALL": "C.UTF-8",
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{environment.source}:{INSIDE}",
        "TACKER_RUN": str(environment.host.folders.run),
        "TACKER_URL": environment.host.url,
        "UPSTREAM_DATABASE": configuration.database(environment.host.state),
        "UPSTREAM_KUBECTL": command
        if environment.services.cluster.owned
        else "",
        "UPSTREAM_LIMIT": str(suite.limit),
        "UPSTREAM_DONE": json.dumps(sorted(done)),
        "UPSTREAM_RESULTS": str(store.path(suite.name).absolute()),
        "UPSTREAM_SELECTED": str(store.selection(suite.name).absolute()),
        "UPSTREAM_SECRETS": json.dumps(environment.services.secrets),
    }
