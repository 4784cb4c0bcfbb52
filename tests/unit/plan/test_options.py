"""What a caller may choose for an operation."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.plan.options import Options


@pytest.mark.parametrize("chosen", ["fail_fast", "wait_all"])
@pytest.mark.requirement("P15")
def test_what_a_failure_ends_can_be_chosen(chosen):
    """The wait at once, or when the others have settled."""
    assert chosen == Options(on_failure=chosen).on_failure


def test_an_unknown_value_is_refused():
    """The error lists the known ones."""
    with pytest.raises(
        errors.RequestInvalid, match="expected fail_fast or wait_all"
    ):
        Options(on_failure="later")


@pytest.mark.parametrize(
    "key", ["statefulset_claims", "statefulset_claims_else"]
)
def test_claims_are_deleted_or_retained(key):
    """There is no third way, and the error names the key."""
    with pytest.raises(
        errors.RequestInvalid, match=f"^{key}: expected delete or"
    ):
        Options(**{key: "keep"})


def test_by_default_a_failure_ends_the_wait():
    """Waiting longer would not help."""
    assert "fail_fast" == Options().on_failure
