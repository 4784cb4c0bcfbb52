"""What the parts of a run have in common, and what one of them finds."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import pathlib
from typing import Any

from tools.bench.measured_cluster import MeasuredCluster
from tools.bench.rows import Row

SECONDS = 600.0
"""After which an operation is given up."""


@dataclasses.dataclass(frozen=True)
class BenchContext:
    """The cluster and the sizes of a run.

    :param folder: for files; deleted when the run ends.
    :param noise: requests in a second that other clients send throughout the
        run.
    :param unavailable: features missing from the cluster, and how detected.
    :param programs: that are built: ``client`` and ``helm``.
    """

    measured_cluster: MeasuredCluster
    kubeconfig: pathlib.Path
    folder: pathlib.Path
    programs: Callable[[str], pathlib.Path]
    print_line: Callable[[str], object]
    rounds: int
    objects: int
    workers: int
    widgets: int
    noise: float = 0.0
    unavailable: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class BenchResult:
    """What a part of a run found out.

    :param raw: all numbers, for JSON.
    :param missing: why it was not measured.
    """

    rows: tuple[Row, ...] = ()
    raw: Any = None
    missing: str = ""
