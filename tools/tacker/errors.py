"""What stops a Tacker on this machine from doing what was asked."""

from __future__ import annotations

from tools.plane.errors import PlaneError


class TackerError(PlaneError):
    """An error that the user can fix; the text states how."""
