"""Routes of a listener, and which of them a connection takes: pure."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import enum
from typing import Any


class Mode(enum.Enum):
    """What happens to the bytes of a route, in both directions.

    PASS delivers them. HANG holds them, as a network partition does: they
    are delivered, in order, when the mode changes. STALE holds only what
    etcd sends on its watch streams; requests and their answers pass.
    """

    PASS = "pass"
    HANG = "hang"
    STALE = "stale"


@dataclasses.dataclass(frozen=True)
class Route:
    """The way to one server.

    :param port: of the server, on 127.0.0.1.
    :param delay: seconds after which each byte is delivered.
    :param in_rotation: whether new connections take this route.
    """

    name: str
    port: int
    mode: Mode = Mode.PASS
    delay: float = 0.0
    in_rotation: bool = True

    def with_changes(self, order: Mapping[str, Any]) -> Route:
        """Return the route as an order changes it. Raises ValueError."""
        known = {"mode", "delay", "in_rotation"}
        if unknown := order.keys() - known:
            raise ValueError(
                f"unknown: {', '.join(sorted(unknown))}; expected some of "
                f"{', '.join(sorted(known))}"
            )
        mode = Mode(order.get("mode", self.mode))
        delay = float(order.get("delay", self.delay))
        in_rotation = order.get("in_rotation", self.in_rotation)
        if delay < 0 or not isinstance(in_rotation, bool):
            raise ValueError(
                f"expected a delay of 0 or more and in_rotation true or "
                f"false, got {delay} and {in_rotation}"
            )
        return dataclasses.replace(
            self, mode=mode, delay=delay, in_rotation=in_rotation
        )

    def as_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "mode": self.mode.value}


@dataclasses.dataclass(frozen=True)
class Rotation:
    """Round robin over routes, one step for each connection.

    :param turn: the place of the route whose turn it is.
    """

    names: tuple[str, ...]
    turn: int = 0

    def candidates(self, routes: Mapping[str, Route]) -> tuple[Route, ...]:
        """Return the routes to try for a connection, the best first.

        Those out of rotation are left out. A server that refuses the
        connection is passed over for the next.
        """
        order = [*self.names[self.turn :], *self.names[: self.turn]]
        return tuple(
            routes[name] for name in order if routes[name].in_rotation
        )

    def after(self, name: str) -> Rotation:
        """Return the rotation after a connection took this route."""
        turn = (self.names.index(name) + 1) % len(self.names)
        return dataclasses.replace(self, turn=turn)
