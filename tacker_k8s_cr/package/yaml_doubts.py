"""Find YAML that Tacker's own driver reads differently: pure.

Tacker's driver reads with PyYAML, this project as kubectl does. A package
written for one may mean something else to the other, so its author is warned.
"""

from __future__ import annotations

from collections.abc import Container
from collections.abc import Mapping
from typing import Any

import yaml

_TACKER = "Tacker's own driver"


def scalar_warning(text: str, value: Any) -> str:
    """Return the warning about a scalar without quotes; empty if none.

    :param text: as it is written.
    :param value: as it is read here.
    """
    if isinstance(value, str) or value is None or not _is_text(text):
        return ""
    # The text of a number may be a secret.
    read = str(value).lower() if isinstance(value, bool) else "a number"
    return (
        f"is read as {read}, as kubectl reads it; {_TACKER} reads a string: "
        "put it in quotes if it is one"
    )


def merge_warning(
    before: Mapping[str, Any],
    explicit: Container[str],
    merged: Mapping[str, Any],
) -> str:
    """Return the warning about a merge that replaces keys; empty if none.

    :param before: the mapping without the merge.
    :param explicit: the keys that the mapping itself names.
    """
    replaced = [
        name
        for name, value in merged.items()
        if name in explicit and before.get(name) != value
    ]
    if not replaced:
        return ""
    return (
        f"<< replaces the value of {', '.join(map(repr, replaced))}, which "
        f"precedes it, as kubectl does; {_TACKER} keeps that value: put "
        "<< first"
    )


def _is_text(text: str) -> bool:
    """Return whether PyYAML reads a scalar without quotes as a string."""
    resolvers = yaml.SafeLoader.yaml_implicit_resolvers
    return not any(
        pattern.match(text)
        for first in (text[:1], None)
        for _, pattern in resolvers.get(first, ())
    )
