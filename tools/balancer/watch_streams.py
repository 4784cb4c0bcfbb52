"""Hold what etcd sends on watch streams, frame by frame: pure.

An API server has one HTTP/2 connection for each kind of object, on which
its reads, writes and watches share the bytes. A gRPC request that has one
answer ends its half of the stream before the answer comes; a watch does
not. So DATA frames of the server on a stream that its client has left open
are those of a watch, and no header has to be decoded to find them.

Frames of type HEADERS are never held: HPACK needs them in their order. What
is held is acknowledged for the connection, or the answers to reads and
writes would soon wait for it; it is not for its own stream, so that etcd
keeps back what does not fit there.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
from typing import NamedTuple

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client sends before its first frame."""

_HEAD = 9
_DATA, _HEADERS, _RST_STREAM, _WINDOW_UPDATE = 0, 1, 3, 8
_END_STREAM = 1


@dataclasses.dataclass(frozen=True)
class Frame:
    """One HTTP/2 frame, with the bytes that it came in."""

    type: int
    flags: int
    stream: int
    raw: bytes

    @property
    def ends_stream(self) -> bool:
        return self.type in (_DATA, _HEADERS) and bool(
            self.flags & _END_STREAM
        )

    @property
    def size(self) -> int:
        """What it takes of the connection's window."""
        return len(self.raw) - _HEAD


class Delivery(NamedTuple):
    """Whole frames that are to be delivered, in both directions."""

    to_server: bytes = b""
    to_client: bytes = b""


class Frames:
    """Cuts bytes into frames as they come."""

    def __init__(self) -> None:
        self._rest = b""

    def cut(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that are complete with these bytes."""
        data = self._rest + data
        start = 0
        while len(data) - start >= _HEAD:
            size = _HEAD + int.from_bytes(data[start : start + 3], "big")
            if len(data) - start < size:
                break
            kind, flags = data[start + 3], data[start + 4]
            number = int.from_bytes(data[start + 5 : start + _HEAD], "big")
            raw = data[start : start + size]
            yield Frame(kind, flags, number & 0x7FFFFFFF, raw)
            start += size
        self._rest = data[start:]


class WatchStreams:
    """Both directions of one connection to etcd."""

    def __init__(self) -> None:
        self._preface = PREFACE
        self._asked = Frames()
        self._answered = Frames()
        self._ended: set[int] = set()
        self._held: dict[int, list[bytes]] = {}

    def requested(self, data: bytes) -> Delivery:
        """Take in what the client sends.

        What is held of a stream that the client resets is delivered: it
        counts for the connection, even if no stream reads it.
        """
        head = data[: len(self._preface)]
        self._preface = self._preface[len(head) :]
        parts = [head]
        released = b""
        for frame in self._asked.cut(data[len(head) :]):
            parts.append(frame.raw)
            if frame.ends_stream or frame.type == _RST_STREAM:
                self._ended.add(frame.stream)
            if frame.type == _RST_STREAM:
                released += self._released(frame.stream)
        return Delivery(b"".join(parts), released)

    def answered(self, data: bytes, hold: bool) -> Delivery:
        """Take in what the server sends, and hold what is of watches."""
        parts: list[bytes] = []
        size = 0
        for frame in self._answered.cut(data):
            if hold and self._is_of_watch(frame):
                self._held.setdefault(frame.stream, []).append(frame.raw)
                size += frame.size
                continue
            if frame.stream in self._held:
                parts.append(self._released(frame.stream))
            parts.append(frame.raw)
            if frame.ends_stream:
                self._ended.discard(frame.stream)
        return Delivery(_window_update(size), b"".join(parts))

    def released(self) -> bytes:
        """Return all that was held, each stream in its order."""
        return b"".join(map(self._released, tuple(self._held)))

    @property
    def is_holding(self) -> bool:
        return bool(self._held)

    def _is_of_watch(self, frame: Frame) -> bool:
        return (
            frame.type == _DATA
            and not frame.ends_stream
            and frame.stream not in self._ended
        )

    def _released(self, stream: int) -> bytes:
        return b"".join(self._held.pop(stream, ()))


def _window_update(size: int) -> bytes:
    """Return the frame that gives the server so many bytes more to send."""
    if not size:
        return b""
    head = (4).to_bytes(3, "big") + bytes([_WINDOW_UPDATE, 0])
    return head + bytes(4) + size.to_bytes(4, "big")
