"""Operations that die as soon as something was written."""

from __future__ import annotations

from tacker_k8s_cr.wait.progress import WaitState
from tests.failing_cluster import Killed

__all__ = ("Killed", "kill_when_waiting")


def kill_when_waiting(progress: WaitState) -> None:
    """End the operation when it first waits for an object."""
    if progress.awaited:
        raise Killed
