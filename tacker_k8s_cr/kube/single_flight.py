"""Let one thread ask a server while others wait until their deadlines."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Hashable
import dataclasses
import logging
import threading
import time
from typing import Generic, TypeVar

from tacker_k8s_cr.model.deadline import Clock
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import ClusterError
from tacker_k8s_cr.model.errors import Unavailable

LOG = logging.getLogger(__name__)

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def acquire_before(turn: threading.Lock, deadline: Deadline) -> bool:
    """Acquire a lock; return whether that succeeded before the deadline."""
    return turn.acquire(timeout=min(deadline.remaining, threading.TIMEOUT_MAX))


@dataclasses.dataclass(frozen=True)
class _Known(Generic[Value]):
    value: Value
    until: float


class TTLCache(Generic[Key, Value]):
    """Answers by question; an answer that has expired is requested again.

    :param seconds: how long an answer is valid.
    """

    def __init__(self, seconds: float, clock: Clock = time.monotonic):
        self._seconds = seconds
        self._clock = clock
        # For the attributes below; not held during a request.
        self._lock = threading.Lock()
        self._known: dict[Key, _Known[Value]] = {}
        self._turns: dict[Key, threading.Lock] = {}
        self._forgotten = 0

    def get_or_ask(
        self, key: Key, what: str, ask: Callable[[], Value], deadline: Deadline
    ) -> Value:
        """Return the cached answer, or that of a request by one thread.

        A thread that has an expired answer does not wait for the new one.

        :raises Unavailable: when the deadline passes; it names the question.
        """
        known, fresh = self._found(key)
        if known and fresh:
            return known.value
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        if known and not turn.acquire(blocking=False):
            return known.value
        if not known and not acquire_before(turn, deadline):
            raise Unavailable.not_sent(what)
        try:
            known, fresh = self._found(key)
            if known and fresh:
                return known.value
            return self._asked(key, what, ask, known)
        finally:
            turn.release()

    def fresh(self, key: Key) -> Value | None:
        """Return the value if it is recent; None if it has to be fetched."""
        known, fresh = self._found(key)
        return known.value if known and fresh else None

    def known(self) -> tuple[Key, ...]:
        with self._lock:
            return tuple(self._known)

    def forget(self, which: Callable[[Key], bool] = lambda _: True) -> None:
        """Drop answers, also those of requests that are in progress."""
        with self._lock:
            self._forgotten += 1
            for key in [key for key in self._known if which(key)]:
                del self._known[key]

    def _found(self, key: Key) -> tuple[_Known[Value] | None, bool]:
        known = self._known.get(key)
        return known, known is not None and self._clock() < known.until

    def _asked(
        self,
        key: Key,
        what: str,
        ask: Callable[[], Value],
        old: _Known[Value] | None,
    ) -> Value:
        before = self._forgotten
        try:
            value = ask()
        except ClusterError as error:
            if old is None:
                raise
            LOG.warning("%s; what is known still holds", error)
            value = old.value
        with self._lock:
            if self._forgotten == before:
                until = self._clock() + self._seconds
                self._known[key] = _Known(value, until)
        return value
