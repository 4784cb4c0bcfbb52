"""Which instance and operation a line of the log is about."""

import logging
import threading

import pytest

from tacker_k8s_cr.cluster.parallel import Pool
from tacker_k8s_cr.driver import lines

LOG = logging.getLogger("tacker_k8s_cr.wait")
OTHER = logging.getLogger("tacker.conductor")


@pytest.fixture
def said(caplog):
    """What was logged, by whoever it was."""
    caplog.set_level(logging.INFO)
    return lambda: [record.getMessage() for record in caplog.records]


def test_a_line_names_instance_and_operation(said):
    """Before what it says, and only while the operation runs."""
    with lines.about("i-1", "op-1"):
        LOG.info("%s: %s", "Pod/edge/a", "current: 100 % there")
    LOG.info("idle")

    assert ["[i-1 op-1] Pod/edge/a: current: 100 % there", "idle"] == said()


def test_lines_of_others_are_left_alone(said):
    """Tacker's own stay as they are."""
    with lines.about("i-1", "op-1"):
        OTHER.info("hello")

    assert ["hello"] == said()


def test_an_operation_is_known_further_in(said):
    """Who knows the instance only does not make the operation unknown."""
    with lines.about("i-1", "op-1"):
        with lines.about("i-1"):
            LOG.info("same")
        with lines.about("i-2"):
            LOG.info("another")
        LOG.info("again")

    assert ["[i-1 op-1] same", "[i-2] another", "[i-1 op-1] again"] == said()


def test_a_line_is_marked_once(said):
    """However many operations there were before."""
    for _ in range(3):
        with lines.about("i-1"):
            LOG.info("once")

    assert ["[i-1] once"] * 3 == said()


def test_threads_that_work_for_an_operation_say_so(said):
    """Those of the pool, whichever operation used them before."""
    pool = Pool(2)

    def work(item):
        LOG.info("item %s", item)

    for instance in ("i-1", "i-2"):
        with lines.about(instance):
            for _ in pool.each(work, [1, 2, 3]):
                pass
    pool.close()

    assert {f"[{i}] item {n}" for i in ("i-1", "i-2") for n in (1, 2, 3)} == (
        set(said())
    )
    assert 6 == len(said())


def test_operations_at_the_same_time_keep_apart(said):
    """Each thread of the conductor has its own."""
    both = threading.Barrier(2)

    def operate(instance):
        with lines.about(instance):
            both.wait(10)
            LOG.info("of %s", instance)
            both.wait(10)

    threads = [
        threading.Thread(target=operate, args=(name,)) for name in ("a", "b")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert ["[a] of a", "[b] of b"] == sorted(said())
