"""The balancer's control: routes are read and changed over HTTP.

``GET /`` answers the routes as JSON; ``POST /`` takes an order such as
``{"route": "kube-apiserver-2", "mode": "hang"}``. An order may have ``cut``,
which resets the route's connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
import json
from typing import Any

from tools.balancer.relay import Line


async def start(port: int, lines: Mapping[str, Line]) -> asyncio.Server:
    """Listen for orders."""

    async def serve(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            code, answer = _answer(lines, *await _request(reader))
            body = json.dumps(answer).encode()
            head = (
                f"HTTP/1.0 {code} -\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await writer.drain()
        except (OSError, ValueError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    return await asyncio.start_server(serve, "127.0.0.1", port)


async def _request(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    method = head.partition(" ")[0]
    length = 0
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            length = int(value)
    return method, await reader.readexactly(length)


def _answer(
    lines: Mapping[str, Line], method: str, body: bytes
) -> tuple[int, Any]:
    if method != "POST":
        return 200, [
            {
                **line.route.as_dict(),
                "connections": len(line.connections),
                "taken": line.taken,
            }
            for line in lines.values()
        ]
    try:
        order = dict(json.loads(body))
        line = lines[order.pop("route", "")]
        cut = order.pop("cut", False)
        line.change(line.route.with_changes(order))
    except KeyError as error:
        return 404, f"no route {error}; expected one of {', '.join(lines)}"
    except (TypeError, ValueError) as error:
        return 400, str(error)
    return 200, {"cut": line.cut() if cut else 0}
