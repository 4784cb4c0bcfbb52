"""Operations that die as soon as something was written."""

from __future__ import annotations

from tacker_k8s_cr.progress import Progress
from tests.mortal import Killed

__all__ = ("Killed", "die")


def die(progress: Progress) -> None:
    """Listens, and ends the operation when it waits for an object."""
    if progress.awaited:
        raise Killed
