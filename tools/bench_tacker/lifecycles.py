"""Takes packages through their lives, and takes the time."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import time
from typing import Any
import uuid

from tests.e2e.packages import Csar
from tools.bench_tacker.rows import Measurement
from tools.plane.kubectl import Kubectl
from tools.tacker import rest_api
from tools.tacker.errors import TackerError
from tools.tacker.rest_api import Api
from tools.tacker.vims import Vim

PAUSE = 0.02
"""Seconds between two polls of an operation: the error of a measurement."""

SECONDS = 900.0
"""For one operation; Tacker's own driver has a limit of 500."""


@dataclasses.dataclass(frozen=True)
class LifeCycle:
    """A package, and what is done to it after it was instantiated."""

    name: str
    csar: Csar
    operations: Mapping[str, Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class TackerBenchEnvironment:
    """Where the lives are led."""

    kubectl: Kubectl
    vim: Vim
    marker: str

    @contextlib.contextmanager
    def namespace(self) -> Iterator[str]:
        name = f"{self.marker}-{uuid.uuid4().hex[:8]}"
        self.kubectl("create", "namespace", name)
        try:
            yield name
        finally:
            self.kubectl("delete", "namespace", name, "--wait=false")


def measure_operations(
    environment: TackerBenchEnvironment,
    api: Api,
    driver: str,
    life_cycle: LifeCycle,
    rounds: int,
) -> list[Measurement]:
    """Each operation of the life, in so many rounds after one to warm up."""
    seconds: dict[str, list[float]] = {}
    failures: dict[str, str] = {}
    for number in range(rounds + 1):
        with environment.namespace() as namespace:
            for what, elapsed, failure in _run_operations(
                environment, api, life_cycle, namespace
            ):
                if failure:
                    failures[what] = failure
                elif number or not rounds:
                    seconds.setdefault(what, []).append(elapsed)
        if failures:
            break
    names = dict.fromkeys([*seconds, *failures])
    return [
        Measurement(
            driver,
            f"{api.version} {life_cycle.name}: {what}",
            tuple(seconds.get(what, ())) if what not in failures else (),
            failures.get(what, ""),
        )
        for what in names
    ]


def _run_operations(
    environment: TackerBenchEnvironment,
    api: Api,
    life_cycle: LifeCycle,
    namespace: str,
) -> Iterator[tuple[str, float, str]]:
    """The operations with their seconds; the first that fails is the last."""
    instance = api.create(life_cycle.csar.vnfd)
    steps = {
        "instantiate": rest_api.instantiation(
            api, environment.vim, life_cycle.csar.files, namespace=namespace
        ),
        **life_cycle.operations,
        "terminate": rest_api.FORCEFUL,
    }
    for what, body in steps.items():
        start = time.monotonic()
        try:
            api.done(instance, what, body, SECONDS)
        except TackerError as error:
            yield what, 0.0, str(error).replace("\n", " ")[:300]
            return
        yield what, time.monotonic() - start, ""
    api.delete(instance)
