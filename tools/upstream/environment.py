"""The environment of the tests: Tacker's, and what its tests import."""

from __future__ import annotations

from collections.abc import Callable
import pathlib

from tools.tacker import environment

PACKAGES = (
    "pytest>=8",
    "ddt",
    "python-cinderclient",
    "stestr",
    "tempest",
    "testtools",
)

PrintLine = Callable[[str], object]


def ensure(
    cache: pathlib.Path, published: pathlib.Path, print_line: PrintLine
) -> pathlib.Path:
    """The environment; made on top of Tacker's when it does not exist."""

    def make(folder: pathlib.Path) -> None:
        print_line(f"installing what the tests import into {folder}")
        wanted = (*PACKAGES, *environment.PINNED)
        environment.make_on_top(published, folder, wanted)

    key = " ".join([str(published), *PACKAGES])
    return environment.make_once(cache, key, make, print_line)
