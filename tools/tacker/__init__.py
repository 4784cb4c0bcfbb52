"""A real Tacker on this machine: server, conductor, MariaDB and RabbitMQ.

Command line: ``python -m tools.tacker``. As a library: ``Host``.
"""

from __future__ import annotations

from tools.tacker.errors import TackerError
from tools.tacker.host import Host
from tools.tacker.state import Options

__all__ = ["Host", "Options", "TackerError"]
