"""Standard error, resolved at each write.

While progress is drawn on a terminal, rich replaces ``sys.stderr`` to print
above the drawing. A reference to the former ``sys.stderr`` would write into
the drawing.
"""

from __future__ import annotations

import sys
from typing import Any


class StandardError:
    """A stream that delegates to the current ``sys.stderr``."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)
