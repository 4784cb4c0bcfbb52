"""The balancer's program: ``python -m tools.balancer``."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal

from tools.balancer import control_api
from tools.balancer.relay import Line
from tools.balancer.relay import Listener
from tools.balancer.routes import Route


def main() -> None:
    arguments = _parser().parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.balancer", description=__doc__
    )
    parser.add_argument("--control", type=int, required=True, metavar="PORT")
    for name, text in (
        ("--tcp", "a listener and its routes, in rotation"),
        ("--etcd", "the same, for HTTP/2 of an API server to etcd"),
    ):
        parser.add_argument(
            name,
            action="append",
            default=[],
            metavar="PORT=NAME:PORT,...",
            help=text,
        )
    return parser


async def _serve(arguments: argparse.Namespace) -> None:
    lines: dict[str, Line] = {}
    listeners = []
    for given, streams in ((arguments.tcp, False), (arguments.etcd, True)):
        for text in given:
            port, _, named = text.partition("=")
            own = [_line(each) for each in named.split(",")]
            lines.update((line.route.name, line) for line in own)
            listeners.append(Listener(int(port), own, streams))
    servers = [await listener.start() for listener in listeners]
    servers.append(await control_api.start(arguments.control, lines))
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    for server in servers:
        server.close()
    for line in lines.values():
        line.cut()


def _line(text: str) -> Line:
    name, _, port = text.rpartition(":")
    return Line(Route(name, int(port)))


if __name__ == "__main__":
    main()
