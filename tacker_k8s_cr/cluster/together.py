"""Connections on which the head and the body of a request go out as one.

urllib3 writes them one after the other. That is two TLS records, twice the
changes between threads, and for the server a second wait: a tenth of the
processor time that a request takes. Answers are read as in ``incoming``,
their heads as in ``heads``.
"""

from __future__ import annotations

from typing import Any

from tacker_k8s_cr.cluster.heads import PlainHead
from tacker_k8s_cr.cluster.incoming import Incoming


def together(kind: type[Any]) -> type[Any]:
    """A kind of urllib3's connections that is as the given one otherwise."""

    class Together(kind):  # type: ignore[misc]
        _parts: list[bytes] | None = None

        def response_class(self, sock: Any, **settings: Any) -> PlainHead:
            """What the library makes an answer of."""
            incoming: Any = Incoming(sock, self.timeout)
            return PlainHead(incoming, **settings)

        def request(self, *args: Any, **kwargs: Any) -> None:
            parts = self._parts = []
            try:
                super().request(*args, **kwargs)
            finally:
                self._parts = None
            self.send(b"".join(parts))

        def send(self, data: Any) -> None:
            if self._parts is None:
                super().send(data)
            else:
                self._parts.append(data)

    return Together
