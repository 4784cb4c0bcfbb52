"""Why a test of Tacker's failed, in one line."""

from __future__ import annotations

import pytest

from tools.upstream import failure_reasons
from tools.upstream.results import FAILED
from tools.upstream.results import SKIPPED
from tools.upstream.results import Operation
from tools.upstream.results import Result

TEST = "sol_kubernetes_v2/test_vnflcm_basic.py::VnfLcm::test_basic_lcms_max"

# As testtools shows it: of a run of Tacker 16.0.0's tests.
SHOWN = """NOTE: Incompatible Exception Representation, displaying natively:

testtools.testresult.real._StringException: Empty attachments:
  pythonlogging:''

Traceback (most recent call last):
  File "/run/tacker/tests/functional/sol_kubernetes_v2/test_vnflcm_basic.py"\
, line 76, in test_basic_lcms_max
    self.wait_lcmocc_complete(lcmocc_id)
  File "/run/tacker/tests/functional/base_v2.py", line 396, in wait_lcmocc
    raise Exception(f"Operation failed. state: {state}")
               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""


def failed(raised, *operations):
    return Result(TEST, FAILED, error=SHOWN + raised, operations=operations)


INSTANTIATE = Operation("v2", "INSTANTIATE", "FAILED_TEMP", "no image:\nweb")


def test_an_operation_that_failed_is_the_reason():
    """A test that reports its state has no reason of its own."""
    result = failed(
        "Exception: Operation failed. state: FAILED_TEMP", INSTANTIATE
    )

    assert "INSTANTIATE: no image: web" == failure_reasons.reason(result)


def test_of_several_operations_the_last_one_is_the_reason():
    """Earlier ones may have failed on purpose."""
    later = Operation("v2", "TERMINATE", "FAILED_TEMP", "not deleted")
    result = failed("Exception: state: FAILED_TEMP", INSTANTIATE, later)

    assert "TERMINATE: not deleted" == failure_reasons.reason(result)


def test_an_assertion_is_shown_with_the_line_of_the_test():
    """The place is in the test itself, not in what it calls."""
    result = failed("testtools.MismatchError: 2 != 1", INSTANTIATE)

    assert (
        "testtools.MismatchError: 2 != 1 (test_vnflcm_basic.py:76: "
        "self.wait_lcmocc_complete(lcmocc_id))"
    ) == failure_reasons.reason(result)


def test_a_failure_outside_of_the_test_has_no_line():
    """setUp of a base class is in another file."""
    error = SHOWN.replace("test_vnflcm_basic", "base") + "KeyError: 'x'"

    assert "KeyError: 'x'" == failure_reasons.reason(
        Result(TEST, FAILED, error=error)
    )


def test_the_message_may_have_several_lines():
    """All that follows the traceback belongs to it."""
    assert "ValueError: a\nb" == failure_reasons.message(
        SHOWN + "ValueError: a\nb\n"
    )


def test_an_error_without_a_traceback_is_its_own_message():
    """Such is the time limit of the harness."""
    assert "late" == failure_reasons.message("late")


def test_a_skipped_test_keeps_its_reason():
    """It is not searched for operations."""
    result = Result(TEST, SKIPPED, error="Reduce test time")

    assert "Reduce test time" == failure_reasons.reason(result)


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("set insecure=true", ("insecure",)),
        ("wanted: https, or the option insecure", ("insecure",)),
        ("[tacker_k8s_cr] namespace_mode is default", ("namespace_mode",)),
        ("tacker_k8s_cr.insecure allows it", ("insecure",)),
        ("there are no such namespaces", ()),
        ("it connects insecurely", ()),
    ],
)
def test_options_are_found_by_their_names(said, names):
    """In errors of operations too, and only as names of options."""
    one = Operation("v2", "INSTANTIATE", "FAILED_TEMP", said)

    assert names == failure_reasons.named_options(failed("E: x", one))
