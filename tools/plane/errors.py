"""What stops the local plane from doing what was asked."""

from __future__ import annotations


class PlaneError(Exception):
    """An error that the user can fix; the text states how."""
