"""Brings the faults of a schedule, and remembers when there were any."""

from __future__ import annotations

import collections
from collections.abc import Iterator
import dataclasses
import json
from typing import Any, Protocol

from tools.balancer.client import Balancer
from tools.fault_proxy.proxy import FaultProxy
from tools.soak.schedule import ANSWERS
from tools.soak.schedule import Fault

DIRECT, FAULTY = "direct", "faulty"
"""The balancer's routes: to the API server, and to the proxy before it."""

SLOW = 0.1
"""Seconds by which each byte comes later."""


class FaultTarget(Protocol):
    """Where faults can be brought, and ended."""

    def begin(self, fault: Fault) -> None: ...

    def end(self, fault: Fault) -> None: ...


@dataclasses.dataclass(frozen=True)
class Network:
    """The balancer before the API server, and a proxy between the two.

    :param proxy: None if there are no faults of answers.
    :param affected_requests: by kind of fault, requests whose answers had it.
    """

    balancer: Balancer
    proxy: FaultProxy | None
    affected_requests: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter
    )

    def begin(self, fault: Fault) -> None:
        if fault.kind == "cut":
            self.balancer.change(DIRECT, cut=True)
        elif fault.kind == "stall":
            self.balancer.change(DIRECT, mode="hang")
        elif fault.kind == "slow":
            self.balancer.change(DIRECT, delay=SLOW)
        elif self.proxy is not None:
            self.proxy.set_rules(*_RULES[fault.kind])
            self.balancer.change(FAULTY, in_rotation=True)
            self.balancer.change(DIRECT, in_rotation=False, cut=True)

    def end(self, fault: Fault) -> None:
        self.balancer.change(DIRECT, mode="pass", delay=0, in_rotation=True)
        if self.proxy is not None and fault.kind in ANSWERS:
            self.affected_requests[fault.kind] += sum(
                self.proxy.count_matches()
            )
            self.proxy.set_rules()
            self.balancer.change(FAULTY, in_rotation=False, cut=True)


class Disturbance:
    """The faults of one soak, in the order of a schedule."""

    def __init__(self, target: FaultTarget, faults: Iterator[Fault]):
        self._target = target
        self._faults = faults
        self._next = next(faults)
        self._active: Fault | None = None
        self.started: list[Fault] = []
        self.last_end = float("-inf")

    @property
    def is_active(self) -> bool:
        return self._active is not None

    @property
    def due(self) -> float:
        """Return when there is something to begin or to end."""
        if self._active is not None:
            return self._active.begins + self._active.seconds
        return self._next.begins

    def advance(self, now: float) -> None:
        """Begin or end what is due."""
        if self._active is not None and self.due <= now:
            self._target.end(self._active)
            self._active = None
            self.last_end = now
        if self._active is None and self._next.begins <= now:
            self._active = dataclasses.replace(self._next, begins=now)
            self._next = next(self._faults)
            self._target.begin(self._active)
            self.started.append(self._active)

    def stop(self, now: float) -> None:
        """End the active fault, and begin no other."""
        if self._active is not None:
            self._target.end(self._active)
            self._active = None
            self.last_end = now
        self._next = dataclasses.replace(self._next, begins=float("inf"))

    def was_active(self, begin: float, end: float) -> bool:
        """Return whether there was a fault in this time."""
        if self._active is not None and self._active.begins <= end:
            return True
        return any(
            fault.begins <= end
            and fault.begins + fault.seconds + GRACE >= begin
            for fault in self.started
        )


GRACE = 2.0
"""Seconds after a fault in which its consequences may show."""


def _status(code: int, reason: str) -> str:
    return json.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "made by the soak",
            "reason": reason,
            "code": code,
        }
    )


def _answer(code: int, reason: str, **more: Any) -> dict[str, Any]:
    return {
        "fault": "answer",
        "code": code,
        "headers": {"retry-after": "1"},
        "body": _status(code, reason),
        **more,
    }


_WRITES = ["PATCH", "POST", "PUT", "DELETE"]

_RULES: dict[str, list[dict[str, Any]]] = {
    "unavailable": [_answer(503, "ServiceUnavailable", every=3)],
    "throttled": [_answer(429, "TooManyRequests", every=2)],
    "lost": [{"fault": "lost", "methods": _WRITES, "every": 3}],
    "truncated": [{"fault": "cut", "every": 4}],
    "silent": [{"fault": "silent", "path": "watch=true"}],
}
