"""Standard error as it is at the moment of each write.

While progress is drawn on a terminal, rich replaces ``sys.stderr``, to print
what is written above the drawing. A stream that was taken from ``sys.stderr``
before would write into the drawing.
"""

from __future__ import annotations

import sys
from typing import Any


class StandardError:
    """Passes everything on to ``sys.stderr``."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)
