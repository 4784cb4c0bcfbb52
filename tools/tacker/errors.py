"""What stops a Tacker on this machine from doing what was asked."""

from __future__ import annotations

from tools.plane.errors import PlaneError


class TackerError(PlaneError):
    """Something a person can mend; the text says what."""
