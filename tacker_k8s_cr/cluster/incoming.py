"""Answers that are read until a deadline, however they come.

The time-out of a socket is one for each read of it. A server that sends a
byte each minute, or a proxy before it, is never silent for long; that it is
late shows only by the whole.
"""

from __future__ import annotations

import io
import socket
from typing import Any

from tacker_k8s_cr.deadline import Deadline


class Limit(float):
    """Seconds of silence that end an answer, and when it must be whole.

    urllib3 takes it as its time-out for reading, and hands it to the
    connection as it is.
    """

    deadline: Deadline

    def __new__(cls, silence: float, deadline: Deadline) -> Limit:
        limit = super().__new__(cls, silence)
        limit.deadline = deadline
        return limit

    @classmethod
    def of(cls, limit: float) -> Limit:
        """Return it with a deadline: that of the whole, if it has none."""
        if isinstance(limit, cls):
            return limit
        return cls(limit, Deadline.after(limit))

    def apply(self, sock: socket.socket) -> None:
        """Set the time-out of the next read. Raises TimeoutError."""
        # Not deadline.left, whose call of max() shows: this runs for every
        # 16 KiB of a list.
        left = self.deadline.at - self.deadline.now
        if left <= 0:
            raise TimeoutError("the answer was not whole in time")
        if left < self:
            sock.settimeout(left)


class Incoming(io.RawIOBase):
    """What comes by a socket, for one answer.

    :param limit: the time-out that the socket has now; without a deadline,
        as a proxy's answer to CONNECT has it, the limit of the whole.
    """

    def __init__(self, sock: socket.socket, limit: float):
        self._sock = sock
        self._file: Any = sock.makefile("rb", buffering=0)
        self._limit = Limit.of(limit)
        self._begun = False

    def makefile(self, mode: str) -> io.BufferedReader:
        """As a socket has it, for who reads the head."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        # Nearly all comes with the first read.
        if self._begun:
            self._limit.apply(self._sock)
        self._begun = True
        size: int | None = self._file.readinto(buffer)
        return size

    def close(self) -> None:
        self._file.close()
        super().close()
