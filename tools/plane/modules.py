"""The Go modules that name what is built, and in which version."""

from __future__ import annotations

from collections.abc import Iterable
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent / "modules"
NAMES = ("kube", "kwok", "capi", "containerd")

Version = tuple[int, ...]


def text(name: str) -> str:
    return (FOLDER / name / "go.mod").read_text()


def go_line(go_mod: str) -> Version:
    """The oldest Go that may build a module."""
    match = re.search(r"^go (\d+(?:\.\d+)*)$", go_mod, re.MULTILINE)
    if match is None:
        raise ValueError("a go.mod without a go line")
    return numbers(match[1])


def required(go_mod: str, path: str) -> str:
    """The version at which a go.mod requires a module."""
    pattern = rf"^(?:require )?\s*{re.escape(path)} (v\S+)"
    match = re.search(pattern, go_mod, re.MULTILINE)
    if match is None:
        raise ValueError(f"a go.mod that does not require {path}")
    return match[1]


def numbers(version: str) -> Version:
    """A version as numbers that can be compared: 1.26.8 is (1, 26, 8)."""
    return tuple(int(part) for part in version.split("."))


def go_needed(names: Iterable[str]) -> Version:
    """The oldest Go that may build all these modules."""
    return max(go_line(text(name)) for name in names)
