"""Many items at once, over one bounded pool."""

from __future__ import annotations

from collections.abc import Iterator
import itertools
import threading

import pytest

from tacker_k8s_cr.kube.thread_pool import WorkerPool
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import RequestInvalid

WAIT = 10.0


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    made = WorkerPool(4)
    yield made
    made.close()


def test_as_many_at_once_as_there_are_threads(pool: WorkerPool) -> None:
    """Four items meet in four threads, and no fifth with them."""
    together = threading.Barrier(4)

    def meet(number: int) -> int:
        return together.wait(WAIT)

    places = sorted(
        result
        for _, result in pool.map(meet, range(8))
        if isinstance(result, int)
    )

    assert [0, 0, 1, 1, 2, 2, 3, 3] == places


def test_results_come_as_they_are_ready(pool: WorkerPool) -> None:
    """A slow item does not hold back the others."""
    go = threading.Event()

    def slow(number: int) -> int:
        if not number:
            assert go.wait(WAIT)
        return number

    order = []
    for item, _ in pool.map(slow, range(5)):
        order.append(item)
        if len(order) == 4:
            go.set()

    assert 0 == order[-1]


def test_operations_take_turns(pool: WorkerPool) -> None:
    """A second operation is served before a long first one ends."""
    second_is_done = threading.Event()
    busy = threading.Event()
    limit = Deadline.after(WAIT)

    def items() -> Iterator[int]:
        """They do not end before the second operation does."""
        while not second_is_done.is_set() and not limit.expired:
            yield 0

    def long(number: int) -> None:
        busy.set()
        second_is_done.wait(0.02)

    first = threading.Thread(target=lambda: list(pool.map(long, items())))
    first.start()
    assert busy.wait(WAIT)
    list(pool.map(lambda number: number, range(4)))
    still = not limit.expired
    second_is_done.set()
    first.join(WAIT)

    assert still


def test_an_error_of_the_package_is_a_result(pool: WorkerPool) -> None:
    """It takes the place of the result of its item."""

    def refuse(number: int) -> int:
        if number == 2:
            raise RequestInvalid("not two")
        return number

    results = dict(pool.map(refuse, range(4)))

    assert "not two" == str(results.pop(2))
    assert {0: 0, 1: 1, 3: 3} == results


@pytest.mark.parametrize("fault", [KeyError, StopIteration])
def test_a_fault_is_raised(pool: WorkerPool, fault: type[Exception]) -> None:
    """Even one that Python uses for ends of iterations."""

    def broken(number: int) -> int:
        raise fault

    with pytest.raises((fault, RuntimeError)):
        list(pool.map(broken, range(4)))


def test_a_fault_in_the_items_is_raised(pool: WorkerPool) -> None:
    """Items may come from a generator, which may fail."""

    def items() -> Iterator[int]:
        yield 1
        raise KeyError("two")

    with pytest.raises(KeyError):
        list(pool.map(lambda number: number, items()))


def test_leaving_early_waits_for_what_runs(pool: WorkerPool) -> None:
    """After the iterator is closed nothing of it runs any more."""
    running = []
    done = []

    def work(number: int) -> None:
        running.append(number)
        done.append(number)

    # However fast the threads are, the items never run out.
    results = pool.map(work, itertools.count())
    next(results)
    results.close()  # type: ignore[attr-defined]

    assert sorted(running) == sorted(done)


def test_nothing_is_made_before_its_use() -> None:
    """A pool without work has no threads, and one item needs none."""
    before = threading.active_count()
    pool = WorkerPool(16)
    unused = pool.map(lambda number: number, range(4))

    assert before == threading.active_count()
    list(pool.map(lambda number: number, [1]))
    assert before == threading.active_count()
    list(pool.map(lambda number: number, [1, 2]))
    assert before < threading.active_count() <= before + 2
    pool.close()
    del unused


def test_no_items(pool: WorkerPool) -> None:
    """Nothing to do is done at once."""
    assert [] == list(pool.map(lambda number: number, []))
