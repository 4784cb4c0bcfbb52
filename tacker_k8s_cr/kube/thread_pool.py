"""Process many items in parallel with one bounded pool of threads."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Iterable
from concurrent import futures
import contextvars
import operator
import queue
import threading
import time
from typing import Any, Generic

from tacker_k8s_cr.kube.protocol import Item
from tacker_k8s_cr.kube.protocol import Result
from tacker_k8s_cr.model.errors import Error

_TURN_SECONDS = 0.05
"""Seconds after which a thread is passed to another waiting operation."""

_GATHER_SECONDS = 0.01
"""Seconds in which results of quick requests are collected.

Waking up for each of them would double the context switches, and take a tenth
of the processor time of a request.
"""

_EXHAUSTED = object()

_inside = threading.local()


class WorkerPool:
    """A fixed number of threads for all operations on one cluster.

    They are started at the first use, and alternate between concurrent
    operations: a long one does not delay a short one.
    """

    def __init__(self, size: int):
        self._size = size
        self._lock = threading.Lock()
        self._executor: futures.ThreadPoolExecutor | None = None
        self._runs = 0

    @property
    def is_contended(self) -> bool:
        """Whether more than one operation needs threads now."""
        return self._runs > 1

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[tuple[Item, Result | Error], None, None]:
        """See ``Cluster.map_parallel``."""
        count = operator.length_hint(items, self._size)
        if count == 1 or getattr(_inside, "pool", False):
            # A single item needs no other thread; and a thread of the pool
            # that waited for others might never end.
            for item in items:
                yield item, _attempt(function, item)
            return
        run = _Run(self, self._start_executor(), function, items)
        self._count(1)
        try:
            yield from run.results(min(self._size, count))
        finally:
            run.stop()
            self._count(-1)

    def close(self) -> None:
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=True, cancel_futures=True)

    def _count(self, more: int) -> None:
        with self._lock:
            self._runs += more

    def _start_executor(self) -> futures.ThreadPoolExecutor:
        with self._lock:
            if self._executor is None:
                self._executor = futures.ThreadPoolExecutor(
                    self._size, thread_name_prefix="tacker-k8s-cr"
                )
            return self._executor


def _run_in_context() -> Callable[..., None]:
    """Return a call with the caller's context, which a log line needs."""
    return contextvars.copy_context().run


def _attempt(function: Callable[[Item], Result], item: Item) -> Result | Error:
    try:
        return function(item)
    except Error as error:
        return error


class _Run(Generic[Item, Result]):
    """One use of the pool: threads process items until there are none."""

    def __init__(
        self,
        pool: WorkerPool,
        executor: futures.ThreadPoolExecutor,
        function: Callable[[Item], Result],
        items: Iterable[Item],
    ):
        self._pool = pool
        self._executor = executor
        self._function = function
        self._items = iter(items)
        self._lock = threading.Lock()
        self._done: queue.SimpleQueue[
            tuple[Item, Result | Error] | BaseException | None
        ] = queue.SimpleQueue()
        self._stopped = False
        self._exhausted = False
        self._threads = 0

    def results(
        self, threads: int
    ) -> Generator[tuple[Item, Result | Error], None, None]:
        for _ in range(threads):
            self._threads += 1
            self._executor.submit(_run_in_context(), self._turn)
        while self._threads:
            done = self._done.get()
            if done is None:
                self._threads -= 1
            elif isinstance(done, BaseException):
                raise done
            else:
                yield done
                if self._done.empty() and not self._exhausted:
                    time.sleep(_GATHER_SECONDS)

    def stop(self) -> None:
        """Start no further items, and wait for those that run."""
        self._stopped = True
        while self._threads:
            if self._done.get() is None:
                self._threads -= 1

    def _turn(self) -> None:
        """Process items in one thread, for at most one turn."""
        _inside.pool = True
        end = time.monotonic() + _TURN_SECONDS
        try:
            for item in iter(self._next, _EXHAUSTED):
                self._done.put((item, _attempt(self._function, item)))
                if self._pool.is_contended and time.monotonic() > end:
                    self._executor.submit(_run_in_context(), self._turn)
                    return
        except BaseException as error:  # noqa: BLE001
            # It is raised in the thread that iterates, not in this one.
            self._stopped = True
            self._done.put(error)
        finally:
            _inside.pool = False
        self._done.put(None)

    def _next(self) -> Any:
        with self._lock:
            item = (
                _EXHAUSTED if self._stopped else next(self._items, _EXHAUSTED)
            )
            self._exhausted = item is _EXHAUSTED
            return item
