"""Hands connections on: how pods of a real node reach the API server.

The server stays on loopback, where no other host can reach it, and need not be
started again when a node comes or goes. Run by its path, on its own:
``port_forward.py LISTEN:PORT TARGET:PORT``.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import sys

_CHUNK = 1 << 16


async def serve(listen: str, target: str) -> None:
    """Accept connections for ever, each joined to one to the target."""
    host, port = _split(listen)
    server = await asyncio.start_server(
        functools.partial(_join, target), host, port
    )
    async with server:
        await server.serve_forever()


async def _join(
    target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    host, port = _split(target)
    try:
        onward, back = await asyncio.open_connection(host, port)
    except OSError:
        writer.close()
        return
    await asyncio.gather(_copy(reader, back), _copy(onward, writer))


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
        # The other direction may have more to say.
        if writer.can_write_eof():
            writer.write_eof()
            return
    writer.close()


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(*sys.argv[1:3]))
