"""The functions of the package that an operation executes, by file.

Functions count that are called between the beginning and the end of the
context, in its thread and in threads that start meanwhile. Importing a module
calls none of its functions. Comprehensions, lambdas and what dataclasses
generate have no name in a file and are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
import pathlib
import sys
import threading
from types import CodeType
from types import FrameType
from types import TracebackType
from typing import Any

import tacker_k8s_cr

PACKAGE = pathlib.Path(tacker_k8s_cr.__file__).parent
FRONT_ENDS = ("cli", "driver")


class Tracer:
    """A context whose function calls are counted."""

    def __init__(self) -> None:
        self._called: dict[CodeType, None] = {}

    def __enter__(self) -> Tracer:
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self._called.setdefault(frame.f_code)

    @property
    def files(self) -> Mapping[str, frozenset[str]]:
        """By file below the front ends, the names of its functions."""
        found: dict[str, set[str]] = {}
        for code in self._called:
            path = pathlib.Path(code.co_filename)
            if code.co_name.startswith("<") or PACKAGE not in path.parents:
                continue
            name = path.relative_to(PACKAGE)
            if name.parts[0] not in FRONT_ENDS and len(name.parts) > 1:
                line = f"{code.co_name}:{code.co_firstlineno}"
                found.setdefault(name.as_posix(), set()).add(line)
        return {name: frozenset(found[name]) for name in sorted(found)}

    @property
    def executed(self) -> list[str]:
        """All files, front ends too, in the order of their first call."""
        paths = [pathlib.Path(code.co_filename) for code in self._called]
        names = [
            path.relative_to(PACKAGE).as_posix()
            for path in paths
            if PACKAGE in path.parents
        ]
        return list(dict.fromkeys(names))

    @property
    def functions(self) -> int:
        return sum(map(len, self.files.values()))
