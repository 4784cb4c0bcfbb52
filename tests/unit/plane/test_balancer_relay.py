"""Connections through the balancer, over the loopback interface."""

from __future__ import annotations

import asyncio
import contextlib
import socket

from tools.balancer.relay import Line
from tools.balancer.relay import Listener
from tools.balancer.routes import Route

SECONDS = 30.0


async def echo(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Return each line after the port of the server."""
    port = writer.get_extra_info("sockname")[1]
    with contextlib.suppress(OSError):
        while line := await reader.readline():
            writer.write(f"{port}: ".encode() + line)
    writer.close()


def port_of(server: asyncio.Server) -> int:
    port: int = server.sockets[0].getsockname()[1]
    return port


class Balanced:
    """Echo servers, and a balancer before them."""

    def __init__(self, count: int):
        self._count = count
        self._clients: list[asyncio.StreamWriter] = []
        self.servers: list[asyncio.Server] = []
        self.lines: list[Line] = []
        self.port = 0

    async def __aenter__(self) -> Balanced:
        for number in range(self._count):
            server = await asyncio.start_server(echo, "127.0.0.1", 0)
            self.servers.append(server)
            self.lines.append(Line(Route(str(number), port_of(server))))
        listener = await Listener(0, self.lines, streams=False).start()
        self.servers.append(listener)
        self.port = port_of(listener)
        return self

    async def __aexit__(self, *error: object) -> None:
        for server in self.servers:
            server.close()
        for client in self._clients:
            client.close()
        for line in self.lines:
            line.change(line.route.with_changes({"mode": "pass"}))
        # All connections end with those of their clients.
        current = asyncio.current_task()
        ending = asyncio.all_tasks() - {current}
        await asyncio.wait_for(asyncio.gather(*ending), SECONDS)

    async def connected(
        self,
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        made = await asyncio.open_connection("127.0.0.1", self.port)
        self._clients.append(made[1])
        return made

    async def asked(self) -> int:
        """Return the port of the server that answers a new connection."""
        reader, writer = await self.connected()
        writer.write(b"hello\n")
        answer = await asyncio.wait_for(reader.readline(), SECONDS)
        writer.close()
        return int(answer.partition(b":")[0])


def test_connections_are_distributed_round_robin():
    """Each of them gets a connection before one gets its second."""

    async def run() -> None:
        async with Balanced(3) as balanced:
            found = [await balanced.asked() for _ in range(6)]

            ports = [line.route.port for line in balanced.lines]
            assert ports * 2 == found
            assert [2, 2, 2] == [line.taken for line in balanced.lines]

    asyncio.run(run())


def test_a_server_that_refuses_is_passed_over():
    """Its connections go to the next."""

    async def run() -> None:
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))  # bound, and does not listen
            async with Balanced(2) as balanced:
                line = balanced.lines[0]
                line.route = Route("0", silent.getsockname()[1])

                found = {await balanced.asked() for _ in range(3)}

                assert {balanced.lines[1].route.port} == found

    asyncio.run(run())


def test_a_route_that_hangs_delivers_when_it_is_restored():
    """No byte is lost; before that, none arrives."""

    async def run() -> None:
        async with Balanced(1) as balanced:
            (line,) = balanced.lines
            reader, writer = await balanced.connected()
            line.change(line.route.with_changes({"mode": "hang"}))
            writer.write(b"hello\n")
            answer = asyncio.create_task(reader.readline())
            # A second connection is accepted meanwhile, and hangs too.
            await balanced.connected()
            assert not answer.done()

            line.change(line.route.with_changes({"mode": "pass"}))

            found = await asyncio.wait_for(answer, SECONDS)
            assert found.endswith(b": hello\n")

    asyncio.run(run())


def test_connections_of_a_route_can_be_cut():
    """Their clients read no further byte."""

    async def run() -> None:
        async with Balanced(1) as balanced:
            (line,) = balanced.lines
            reader, writer = await balanced.connected()
            writer.write(b"hello\n")
            await reader.readline()

            assert 1 == line.cut()

            found = await asyncio.wait_for(reader.read(), SECONDS)
            assert b"" == found

    asyncio.run(run())
