"""The package that makes a Cluster API management cluster of an empty one.

Command line: ``python -m tools.management``.
"""

from __future__ import annotations
