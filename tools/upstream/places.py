"""Where a run keeps what it starts."""

from __future__ import annotations

from collections.abc import Mapping
import os
import pathlib
import tempfile

NAME = "tacker-k8s-cr-upstream"


def chosen(environ: Mapping[str, str]) -> pathlib.Path:
    """UPSTREAM_RUN; else one for each user."""
    if named := environ.get("UPSTREAM_RUN", ""):
        return pathlib.Path(named).absolute()
    if session := environ.get("XDG_RUNTIME_DIR"):
        return pathlib.Path(session) / NAME
    return pathlib.Path(tempfile.gettempdir()) / f"{NAME}-{os.getuid()}"
