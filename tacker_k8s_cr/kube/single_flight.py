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


def acquire_before(lock: threading.Lock, deadline: Deadline) -> bool:
    """Acquire a lock; return whether that succeeded before the deadline."""
    return lock.acquire(timeout=min(deadline.remaining, threading.TIMEOUT_MAX))


@dataclasses.dataclass(frozen=True)
class _Cached(Generic[Value]):
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
        self._cache: dict[Key, _Cached[Value]] = {}
        self._locks: dict[Key, threading.Lock] = {}
        self._generation = 0

    def get_or_fetch(
        self,
        key: Key,
        what: str,
        fetch: Callable[[], Value],
        deadline: Deadline,
    ) -> Value:
        """Return the cached answer, or that of a request by one thread.

        A thread that has an expired answer does not wait for the new one.

        :raises Unavailable: when the deadline passes; it names the question.
        """
        cached, fresh = self._look_up(key)
        if cached and fresh:
            return cached.value
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        if cached and not lock.acquire(blocking=False):
            return cached.value
        if not cached and not acquire_before(lock, deadline):
            raise Unavailable.not_sent(what)
        try:
            cached, fresh = self._look_up(key)
            if cached and fresh:
                return cached.value
            return self._fetch(key, what, fetch, cached)
        finally:
            lock.release()

    def fresh(self, key: Key) -> Value | None:
        """Return the value if it is recent; None if it has to be fetched."""
        cached, fresh = self._look_up(key)
        return cached.value if cached and fresh else None

    def cached_keys(self) -> tuple[Key, ...]:
        with self._lock:
            return tuple(self._cache)

    def forget(self, which: Callable[[Key], bool] = lambda _: True) -> None:
        """Drop answers, also those of requests that are in progress."""
        with self._lock:
            self._generation += 1
            for key in [key for key in self._cache if which(key)]:
                del self._cache[key]

    def _look_up(self, key: Key) -> tuple[_Cached[Value] | None, bool]:
        cached = self._cache.get(key)
        return cached, cached is not None and self._clock() < cached.until

    def _fetch(
        self,
        key: Key,
        what: str,
        fetch: Callable[[], Value],
        old: _Cached[Value] | None,
    ) -> Value:
        before = self._generation
        try:
            value = fetch()
        except ClusterError as error:
            if old is None:
                raise
            LOG.warning("%s; using the cached response", error)
            value = old.value
        with self._lock:
            if self._generation == before:
                until = self._clock() + self._seconds
                self._cache[key] = _Cached(value, until)
        return value
