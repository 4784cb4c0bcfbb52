"""Connections on which the head and the body of a request go out as one.

urllib3 writes them one after the other. That is two TLS records, twice the
changes between threads, and for the server a second wait: a tenth of the
processor time that a request takes. Answers have their heads read as in
``heads``.
"""

from __future__ import annotations

from typing import Any

from tacker_k8s_cr.cluster.heads import PlainHead


def together(kind: type[Any]) -> type[Any]:
    """A kind of urllib3's connections that is as the given one otherwise."""

    class Together(kind):  # type: ignore[misc]
        response_class = PlainHead
        _parts: list[bytes] | None = None

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
