"""Claims, the classes that serve them, and sizes."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds import storage
from tacker_k8s_cr.model.objects import State

CLAIM = storage.CLAIM


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        (3, 3),
        ("1Ki", 1024),
        ("1.5Gi", Fraction(3, 2) * 1024**3),
        ("2k", 2000),
        ("1M", 10**6),
        ("1e3", 1000),
        ("5E", 5 * 10**18),
        ("1Ei", 2**60),
    ],
)
def test_a_quantity(text, number):
    """Sizes are compared as the numbers they stand for."""
    assert number == storage.parse_quantity(text)


@pytest.mark.parametrize(
    "text", ["", "Gi", "1Zi", "-", None, True, [], "1 Gi"]
)
def test_an_invalid_quantity(text):
    """Anything else has no size."""
    assert storage.parse_quantity(text) is None


CLASSES = [
    {
        "metadata": {"name": "kinds-late"},
        "volumeBindingMode": "WaitForFirstConsumer",
    },
    {"metadata": {"name": "kinds-now"}, "volumeBindingMode": "Immediate"},
    {"metadata": {"name": "old"}},
]


@pytest.mark.requirement("P2")
def test_a_late_class_is_known(load):
    """With the classes known, a claim of a late one is current."""
    known = kinds.BUILT_IN.with_handlers(storage.claim_handler(CLASSES))

    assert (
        State.CURRENT
        is known[CLAIM].assess(load("persistentvolumeclaim/late")).state
    )


def test_an_immediate_class_is_known(load):
    """With the classes known, a claim of another class is waited for."""
    known = kinds.BUILT_IN.with_handlers(storage.claim_handler(CLASSES))
    claim = load("persistentvolumeclaim/late")
    claim["spec"]["storageClassName"] = "kinds-now"

    assert (
        "in progress: Pending: no volume of the class kinds-now yet"
    ) == str(known[CLAIM].assess(claim))


def test_all_else_that_is_known_of_claims_stays():
    """Knowing the classes changes the judgement, and nothing else."""
    known = storage.claim_handler(CLASSES)[CLAIM]
    plain = kinds.BUILT_IN[CLAIM]

    assert plain == dataclasses.replace(known, assess=plain.assess)
