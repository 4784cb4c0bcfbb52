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

_PrintLine = Callable[[str], object]


def kubeconfig() -> pathlib.Path:
    """Where the administrator's kubeconfig lies while the plane is up."""
    return Folders.from_environ(os.environ).kubeconfig


def running() -> bool:
    """Whether every process of the plane runs and answers."""
    return not Plane.from_environ(os.environ).unavailable(PARTS)


def ensure(print_line: _PrintLine = print) -> bool:
    """Build and start what is missing; return whether the caller may end it.

    A plane of which some components ran before, such as one without Cluster
    API, belongs to the user that started them.
    """
    plane = Plane.from_environ(os.environ, print_line)
    found = any(map(plane.is_working, plane.table.values()))
    return plane.up() and not found


def down(print_line: _PrintLine = print) -> bool:
    """End the plane and remove its folder; whether anything ran."""
    plane = Plane.from_environ(os.environ, print_line)
    node.down(plane)
    return plane.down()


def token(user: str) -> str:
    """The bearer token of ``admin-token`` or ``plain-token``."""
    return credentials.token(Folders.from_environ(os.environ), user)
