"""Where a run keeps what it starts."""

from __future__ import annotations

from collections.abc import Mapping
import pathlib

from tools.plane.folders import choose_user_folder

NAME = "tacker-k8s-cr-upstream"


def choose(environ: Mapping[str, str]) -> pathlib.Path:
    """UPSTREAM_RUN; else one for each user."""
    if named := environ.get("UPSTREAM_RUN", ""):
        return pathlib.Path(named).absolute()
    return choose_user_folder(environ, NAME)
