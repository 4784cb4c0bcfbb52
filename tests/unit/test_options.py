"""What a caller may choose for an operation."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr.options import Options


@pytest.mark.parametrize("chosen", ["end", "settle"])
def test_what_a_failure_ends_can_be_chosen(chosen):
    """The wait at once, or when the others have settled (P15)."""
    assert chosen == Options(on_failed=chosen).on_failed


def test_another_word_is_refused():
    """The error says which there are."""
    with pytest.raises(errors.RequestInvalid, match="neither end nor settle"):
        Options(on_failed="later")


@pytest.mark.parametrize(
    "key", ["statefulset_claims", "statefulset_claims_else"]
)
def test_claims_are_deleted_or_retained(key):
    """There is no third way, and the error names the key."""
    with pytest.raises(
        errors.RequestInvalid, match=f"^{key}: expected delete or"
    ):
        Options(**{key: "keep"})


def test_unless_somebody_says_so_a_failure_ends_the_wait():
    """Waiting longer would not help (P15)."""
    assert "end" == Options().on_failed
