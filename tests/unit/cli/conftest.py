"""What all tests of commands share."""

from __future__ import annotations

import logging

import pytest


@pytest.fixture(autouse=True)
def _log():
    """Each program adds where its log goes; a test leaves none behind."""
    root = logging.getLogger()
    before = list(root.handlers), root.level
    yield
    root.handlers[:], level = before
    root.setLevel(level)
