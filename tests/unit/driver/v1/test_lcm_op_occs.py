"""Tacker's records of operations, in its own database."""

import datetime
import json
import types
import uuid

import pytest
from tacker import objects

from tacker_k8s_cr.driver.v1 import lcm_op_occs
from tests import tacker_host

VIM = types.SimpleNamespace(vim_id="3f0d2a5e-5d2c-4c9e-8a7e-0f1e2d3c4b5a")
BEGUN = datetime.datetime(2026, 11, 21, tzinfo=datetime.timezone.utc)


@pytest.fixture
def running(tmp_path):
    (tmp_path / "vim_keys").mkdir()
    with tacker_host.running_operation(tmp_path / "vim_keys") as found:
        yield found


@pytest.fixture
def vnf(running):
    return running.vnf_instance(VIM)


@pytest.fixture
def record_operation(running, vnf):
    """Records an operation; the later ones began later."""
    count = iter(range(99))

    def begin(state, operation="INSTANTIATE", body=None):
        at = BEGUN + datetime.timedelta(minutes=next(count))
        made = objects.VnfLcmOpOcc(
            context=running.context,
            id=str(uuid.uuid4()),
            operation_state=state,
            start_time=at,
            state_entered_time=at,
            vnf_instance_id=vnf.id,
            operation=operation,
            is_automatic_invocation=False,
            is_cancel_pending=False,
            operation_params=json.dumps(body or {}),
            error_point=0,
            tenant_id=running.TENANT,
        )
        made.create()
        return made.id

    return begin


def point(running, occurrence):
    found = objects.VnfLcmOpOcc.get_by_id(running.context, occurrence)
    return found.error_point


def test_the_error_point_is_stored_before_the_first_write(
    running, vnf, record_operation
):
    """So that a killed conductor's operation can be retried."""
    former = record_operation("COMPLETED")
    now = record_operation("PROCESSING", "HEAL")

    assert now == lcm_op_occs.mark_started(running.context, vnf.id)

    assert lcm_op_occs.TOUCHED == point(running, now)
    assert 0 == point(running, former)


def test_the_parameters_of_a_request_are_read_from_its_record(
    running, vnf, record_operation
):
    """As its body has them; Tacker gives a heal of all none."""
    ours = {"tacker_k8s_cr": {"timeout": 5}}
    now = record_operation("PROCESSING", "HEAL", {"additionalParams": ours})
    without = record_operation("PROCESSING", "HEAL")

    assert ours == lcm_op_occs.read_parameters(running.context, now)
    assert {} == lcm_op_occs.read_parameters(running.context, without)
    assert {} == lcm_op_occs.read_parameters(running.context, "")
    assert not running.context.session.in_transaction()


def test_a_rollback_keeps_its_error_point(running, vnf, record_operation):
    """Tacker goes by it to see how far the rollback has come."""
    now = record_operation("ROLLING_BACK")

    assert "" == lcm_op_occs.mark_started(running.context, vnf.id)
    assert 0 == point(running, now)


@pytest.mark.parametrize(
    ("states", "failed", "under_way"),
    [
        ([], False, False),
        (["COMPLETED"], False, False),
        (["FAILED_TEMP"], True, False),
        (["COMPLETED", "FAILED"], True, False),
        (["FAILED", "COMPLETED"], False, False),
        (["COMPLETED", "STARTING"], False, True),
        (["PROCESSING"], False, True),
        (["ROLLING_BACK"], False, True),
    ],
)
def test_an_instance_is_idle_or_not(
    running, vnf, record_operation, states, failed, under_way
):
    """By its operations, the last of which may have failed."""
    for state in states:
        record_operation(state)

    assert failed == lcm_op_occs.has_failed(running.context, vnf.id)
    assert under_way == lcm_op_occs.is_running(running.context, vnf.id)
