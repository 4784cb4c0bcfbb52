"""Objects of every state, each from a file that states its origin."""

from __future__ import annotations

from collections.abc import Callable
import copy
import pathlib
from typing import Any

import pytest
import yaml

DATA = pathlib.Path(__file__).parent / "data"

# Both are safe; the one that is written in C is ten times as fast.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@pytest.fixture(scope="session")
def stored_text() -> Callable[[str], dict[str, Any]]:
    """Read a file once, however many tests ask for it."""
    known: dict[str, dict[str, Any]] = {}

    def read(name: str) -> dict[str, Any]:
        if name not in known:
            text = (DATA / f"{name}.yaml").read_text(encoding="utf-8")
            known[name] = yaml.load(text, LOADER)  # noqa: S506
        return known[name]

    return read


@pytest.fixture
def load(stored_text) -> Callable[[str], dict[str, Any]]:
    """An object that a test may change, by its file's name."""
    return lambda name: copy.deepcopy(stored_text(name))
