"""Orders to a running balancer."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import json
from typing import Any
import urllib.error
import urllib.request

SECONDS = 10.0


@dataclasses.dataclass(frozen=True)
class Balancer:
    """The balancer whose control listens at this URL."""

    url: str

    def routes(self) -> dict[str, Mapping[str, Any]]:
        """Return the routes by name, with the number of connections."""
        found = self._send(None)
        return {route["name"]: route for route in found}

    def change(self, route: str, **order: Any) -> None:
        """Change a route. Raises ValueError with the balancer's message."""
        self._send({"route": route, **order})

    def restore(self) -> None:
        """Let every route pass all bytes, and take new connections."""
        for name in self.routes():
            self.change(name, mode="pass", delay=0, in_rotation=True)

    def _send(self, order: Mapping[str, Any] | None) -> Any:
        body = None if order is None else json.dumps(order).encode()
        try:
            with urllib.request.urlopen(  # noqa: S310  the plane's own
                self.url, body, timeout=SECONDS
            ) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            raise ValueError(json.load(error)) from None
