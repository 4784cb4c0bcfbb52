"""Read an answer until a deadline.

The time-out of a socket applies to each read. A server or a proxy that sends
one byte per minute never exceeds it, so the whole answer has a deadline, too.
"""

from __future__ import annotations

import io
import socket
from typing import Any

from tacker_k8s_cr.model.deadline import Deadline


class ReadTimeout(float):
    """The time-out of each read, with the deadline of the whole answer.

    urllib3 accepts it as its read time-out, and passes it to the connection.
    """

    deadline: Deadline

    def __new__(cls, silence: float, deadline: Deadline) -> ReadTimeout:
        limit = super().__new__(cls, silence)
        limit.deadline = deadline
        return limit

    @classmethod
    def of(cls, limit: float) -> ReadTimeout:
        """Return a limit with a deadline; by default, the limit itself."""
        if isinstance(limit, cls):
            return limit
        return cls(limit, Deadline.after(limit))

    def apply(self, sock: socket.socket) -> None:
        """Set the time-out of the next read. Raises TimeoutError."""
        # Not deadline.remaining, whose call of max() is measurable: this runs
        # for every 16 KiB of a list.
        left = self.deadline.at - self.deadline.now
        if left <= 0:
            raise TimeoutError("the answer was not whole in time")
        if left < self:
            sock.settimeout(left)


class DeadlineReader(io.RawIOBase):
    """A socket as the file that http.client reads one answer from.

    :param limit: the present time-out of the socket; if it has no deadline, as
        for a proxy's answer to CONNECT, it limits the whole answer.
    """

    def __init__(self, sock: socket.socket, limit: float):
        self._sock = sock
        self._file: Any = sock.makefile("rb", buffering=0)
        self._limit = ReadTimeout.of(limit)
        self._begun = False

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return the file, as the method of a socket does."""
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
