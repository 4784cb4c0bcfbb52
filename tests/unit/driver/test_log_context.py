"""Instance and operation of a log line, as oslo.log formats them."""

import json
import logging
import threading

from oslo_config import cfg
from oslo_context import context as oslo_context
from oslo_log import formatters
from oslo_log import log
import pytest

from tacker_k8s_cr.driver import log_context
from tacker_k8s_cr.kube.thread_pool import WorkerPool

LOG = logging.getLogger("tacker_k8s_cr.wait.settled")
OTHER = logging.getLogger("tacker.conductor")


@pytest.fixture(autouse=True)
def no_request():
    """A test in the same process may have left the context of a request."""
    store = oslo_context._request_store
    before = vars(store).pop("context", None)
    yield
    vars(store).pop("context", None)
    if before is not None:
        store.context = before


@pytest.fixture
def options():
    """The options of oslo.log, with formats that are short."""
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    conf.set_override(
        "logging_context_format_string",
        "%(request_id)s %(instance)s%(message)s",
    )
    conf.set_override(
        "logging_default_format_string", "%(instance)s%(message)s"
    )
    conf([], default_config_files=[])
    return conf


@pytest.fixture
def log_lines(caplog, options):
    """The lines that the conductor's formatter writes."""
    caplog.set_level(logging.INFO)
    formatter = formatters.ContextFormatter(config=options)
    return lambda: [formatter.format(record) for record in caplog.records]


def test_a_line_names_instance_and_operation(log_lines):
    """Before the message, and only while the operation runs."""
    with log_context.log_ids("i-1", "op-1"):
        LOG.info("%s: %s", "Pod/edge/a", "current: 100 % there")
    LOG.info("idle")

    assert [
        "[instance: i-1 operation: op-1] Pod/edge/a: current: 100 % there",
        "idle",
    ] == log_lines()


def test_foreign_log_lines_are_left_alone(log_lines):
    """Tacker's own stay as they are."""
    with log_context.log_ids("i-1", "op-1"):
        OTHER.info("hello")

    assert ["hello"] == log_lines()


def test_an_operation_is_kept_in_nested_calls(log_lines):
    """A nested context with the instance only keeps the operation."""
    with log_context.log_ids("i-1", "op-1"):
        with log_context.log_ids("i-1"):
            LOG.info("same")
        with log_context.log_ids("i-2"):
            LOG.info("another")
        LOG.info("again")

    assert [
        "[instance: i-1 operation: op-1] same",
        "[instance: i-2] another",
        "[instance: i-1 operation: op-1] again",
    ] == log_lines()


def test_a_line_is_marked_once(log_lines):
    """However many operations there were before."""
    for _ in range(3):
        with log_context.log_ids("i-1"):
            LOG.info("once")

    assert ["[instance: i-1] once"] * 3 == log_lines()


def test_threads_of_an_operation_log_its_context(log_lines):
    """Those of the pool, whichever operation used them before."""
    pool = WorkerPool(2)

    def work(item):
        LOG.info("item %s", item)

    for instance in ("i-1", "i-2"):
        with log_context.log_ids(instance):
            for _ in pool.map(work, [1, 2, 3]):
                pass
    pool.close()

    assert {
        f"[instance: {i}] item {n}" for i in ("i-1", "i-2") for n in (1, 2, 3)
    } == (set(log_lines()))
    assert 6 == len(log_lines())


def test_operations_at_the_same_time_keep_apart(log_lines):
    """Each thread of the conductor has its own."""
    both = threading.Barrier(2)

    def operate(instance):
        with log_context.log_ids(instance):
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

    assert ["[instance: a] of a", "[instance: b] of b"] == sorted(log_lines())


def test_a_line_of_a_worker_thread_has_the_id_of_the_request(log_lines):
    """oslo.context is bound to a thread, and the pool has others."""
    pool = WorkerPool(2)
    request = oslo_context.RequestContext(request_id="req-1")
    try:
        with log_context.log_ids("i-1"):
            list(pool.map(lambda item: LOG.info("item %s", item), [1]))
    finally:
        pool.close()
        oslo_context._request_store.__dict__.clear()

    assert request.request_id == "req-1"
    assert ["req-1 [instance: i-1] item 1"] == log_lines()


def test_the_ids_are_fields_of_a_line_in_json(caplog):
    """As oslo.log's own adapter adds what a call names."""
    caplog.set_level(logging.INFO)
    with log_context.log_ids("i-1", "op-1"):
        LOG.info("said")

    [record] = caplog.records
    line = json.loads(formatters.JSONFormatter().format(record))

    assert {"resource_id": "i-1", "operation_id": "op-1"} == line["extra"]
