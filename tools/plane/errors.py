"""What stops the local plane from doing what was asked."""

from __future__ import annotations


class PlaneError(Exception):
    """Something a person can mend; the text says what."""
