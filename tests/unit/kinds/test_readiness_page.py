"""The page on readiness agrees with the table."""

from __future__ import annotations

import pathlib

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds import operators

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "doc" / "source" / "user" / "readiness.rst"

TEXT = PAGE.read_text()


@pytest.mark.parametrize(
    "group_kind",
    sorted(kinds.BUILT_IN.handlers.keys() - operators.HANDLERS.keys()),
    ids=str,
)
def test_the_page_names_each_kind(group_kind):
    """Those of operators are written from the table itself."""
    assert group_kind.kind in TEXT


def test_the_page_has_the_table_of_operators():
    """Generated, with the rules and the sources."""
    assert "\n.. operators::\n" in TEXT
