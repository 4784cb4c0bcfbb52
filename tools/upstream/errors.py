"""What prevents a run of Tacker's tests."""

from __future__ import annotations

from tools.plane.errors import PlaneError


class UpstreamError(PlaneError):
    """The user can resolve it; the text states how."""
