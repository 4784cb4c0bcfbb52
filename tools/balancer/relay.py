"""Connections through the balancer: bytes in both directions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from collections.abc import Sequence
import contextlib
import dataclasses

from tools.balancer.routes import Mode
from tools.balancer.routes import Rotation
from tools.balancer.routes import Route
from tools.balancer.watch_streams import WatchStreams

_CHUNK = 1 << 16
_HELD = 256
"""Chunks of a direction that are read ahead of what is delivered."""

Filter = Callable[[bytes], bytes]


class Line:
    """A route and the connections that took it."""

    def __init__(self, route: Route):
        self.route = route
        self.taken = 0
        self.connections: set[Connection] = set()
        self._passing = asyncio.Event()
        self._passing.set()

    def change(self, route: Route) -> None:
        """Let the route be like this from now on."""
        self.route = route
        if route.mode is Mode.HANG:
            self._passing.clear()
        else:
            self._passing.set()
        if route.mode is Mode.PASS:
            for connection in tuple(self.connections):
                connection.release()

    def cut(self) -> int:
        """Reset all connections; return how many there were."""
        count = len(self.connections)
        for connection in tuple(self.connections):
            connection.abort()
        return count

    async def delivery(self, came: float) -> None:
        """Return when bytes that came at this time are to be delivered."""
        late = came + self.route.delay - asyncio.get_running_loop().time()
        if late > 0:
            await asyncio.sleep(late)
        await self._passing.wait()


@dataclasses.dataclass(eq=False)
class Connection:
    """A client's connection, joined to one to the server of a route."""

    line: Line
    client: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    server: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    streams: WatchStreams | None = None

    async def run(self) -> None:
        """Deliver bytes until both directions have ended."""
        self.line.connections.add(self)
        try:
            await asyncio.gather(
                self._direction(
                    self.client[0], self.server[1], self._on_request_data
                ),
                self._direction(
                    self.server[0], self.client[1], self._on_response_data
                ),
            )
        except OSError:
            self.abort()
        finally:
            self.line.connections.discard(self)
            for _, writer in (self.client, self.server):
                writer.close()

    def abort(self) -> None:
        for _, writer in (self.client, self.server):
            writer.transport.abort()

    def release(self) -> None:
        """Deliver what was held of watch streams."""
        if self.streams is not None and self.streams.is_holding:
            self.client[1].write(self.streams.released())

    def _on_request_data(self, data: bytes) -> bytes:
        if self.streams is None:
            return data
        found = self.streams.requested(data)
        self.client[1].write(found.to_client)
        return found.to_server

    def _on_response_data(self, data: bytes) -> bytes:
        if self.streams is None:
            return data
        hold = self.line.route.mode is Mode.STALE
        found = self.streams.answered(data, hold)
        self.server[1].write(found.to_server)
        return found.to_client

    async def _direction(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        passed: Filter,
    ) -> None:
        """Deliver one direction to its end.

        What comes is read ahead, so that a delay is one of each byte and
        not of each chunk after the other.
        """
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_HELD)
        clock = asyncio.get_running_loop().time

        async def fill() -> None:
            chunk = b"."
            while chunk:
                try:
                    chunk = await reader.read(_CHUNK)
                except OSError:
                    self.abort()
                    chunk = b""
                await queue.put((clock(), chunk))

        filling = asyncio.create_task(fill())
        try:
            while True:
                came, chunk = await queue.get()
                await self.line.delivery(came)
                if not chunk:
                    break
                writer.write(passed(chunk))
                await writer.drain()
            # The other direction may have more to say.
            if writer.can_write_eof():
                writer.write_eof()
        finally:
            filling.cancel()


class Listener:
    """Accepts connections on a port and gives each one of its lines.

    :param streams: whether what comes is HTTP/2 to etcd.
    """

    def __init__(self, port: int, lines: Sequence[Line], streams: bool):
        self._port = port
        self._lines = {line.route.name: line for line in lines}
        self._rotation = Rotation(tuple(self._lines))
        self._streams = streams

    async def start(self) -> asyncio.Server:
        return await asyncio.start_server(
            self._accept, "127.0.0.1", self._port, backlog=1024
        )

    async def _accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        routes = {name: line.route for name, line in self._lines.items()}
        for route in self._rotation.candidates(routes):
            try:
                server = await asyncio.open_connection("127.0.0.1", route.port)
            except OSError:
                continue
            self._rotation = self._rotation.after(route.name)
            line = self._lines[route.name]
            line.taken += 1
            streams = WatchStreams() if self._streams else None
            client = (reader, writer)
            with contextlib.suppress(asyncio.CancelledError):
                await Connection(line, client, server, streams).run()
            return
        writer.transport.abort()
