"""A real control plane on this machine, built from published Go modules.

Command line: ``python -m tools.plane``. As a library: is it running, where
is its kubeconfig, bring it up.
"""

from __future__ import annotations

from collections.abc import Callable
import os
import pathlib

from tools.plane import credentials
from tools.plane import node
from tools.plane.errors import PlaneError
from tools.plane.folders import Folders
from tools.plane.lifecycle import PARTS
from tools.plane.lifecycle import Plane

__all__ = [
    "Plane",
    "PlaneError",
    "down",
    "ensure",
    "kubeconfig",
    "running",
    "token",
]

_Say = Callable[[str], object]


def kubeconfig() -> pathlib.Path:
    """Where the administrator's kubeconfig lies while the plane is up."""
    return Folders.of(os.environ).kubeconfig


def running() -> bool:
    """Whether every process of the plane runs and answers."""
    return not Plane.of(os.environ).unavailable(PARTS)


def ensure(say: _Say = print) -> bool:
    """Build and start what is missing; return whether the caller may end it.

    A plane of which some components ran before, such as one without Cluster
    API, belongs to the user that started them.
    """
    plane = Plane.of(os.environ, say)
    found = any(map(plane.works, plane.table.values()))
    return plane.up() and not found


def down(say: _Say = print) -> bool:
    """End the plane and remove its folder; whether anything ran."""
    plane = Plane.of(os.environ, say)
    node.down(plane)
    return plane.down()


def token(user: str) -> str:
    """The bearer token of ``admin-token`` or ``plain-token``."""
    return credentials.token(Folders.of(os.environ), user)
