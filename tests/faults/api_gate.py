"""Forwards to the API server, counts requests, and may kill their sender.

It speaks plain HTTP in front and the API server's TLS behind. The first part
of the path names a life: one process, whose requests are counted. At the one
that the life names, the process gets a signal, before the request is passed on
or after its answer came. So nothing of the process itself is changed, and what
it had sent by then is carried out as usual.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from collections.abc import Iterator
import concurrent.futures
import contextlib
import dataclasses
import os
import re
import select
import signal
import threading

import aiohttp
from aiohttp import web
import yarl

from tacker_k8s_cr.kube import credentials
from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tacker_k8s_cr.kube.http import tls

_OWN = frozenset(
    ("authorization", "connection", "host", "keep-alive", "transfer-encoding")
)
"""Headers that are between two neighbours."""

DEATH = 10.0
"""Seconds within which a process that was killed is no more."""


@dataclasses.dataclass
class WatchedProcess:
    """One process on its way through the gate.

    :param at: the request at which it ends; 0 for none.
    :param after: with the answer there, rather than before it is passed on.
    :param counts: only requests whose method and path this finds count.
    :param signal: what the process gets.
    :param asked: what becomes of a path and its query on their way.
    """

    at: int = 0
    after: bool = False
    counts: str = ""
    signal: int = signal.SIGKILL
    asked: Callable[[str], str] = str
    pid: concurrent.futures.Future[int] = dataclasses.field(
        default_factory=concurrent.futures.Future
    )
    served: list[str] = dataclasses.field(default_factory=list)
    counted: int = 0
    struck: str = ""
    reached: threading.Event = dataclasses.field(
        default_factory=threading.Event
    )

    @property
    def killed(self) -> bool:
        return bool(self.struck) and self.signal == signal.SIGKILL

    def _is_the_last(self, request: str) -> bool:
        """Count a request; return whether the life names this one."""
        self.served.append(request)
        if not re.search(self.counts, request):
            return False
        self.counted += 1
        return self.counted == self.at

    async def _strike(self, request: str) -> None:
        pid = await asyncio.wrap_future(self.pid)
        self.struck = request
        if self.signal == signal.SIGKILL:
            _kill(pid)
        else:
            os.kill(pid, self.signal)
        self.reached.set()


def _kill(pid: int) -> None:
    """End a process; it is no more when this returns."""
    handle = os.pidfd_open(pid)
    try:
        os.kill(pid, signal.SIGKILL)
        gone, _, _ = select.select([handle], [], [], DEATH)
        assert gone, f"{pid} does not die"
    finally:
        os.close(handle)


class ApiGate:
    """Runs while it is ``opened``."""

    def __init__(self, kubeconfig: str):
        self._behind = kubeconfigs.load(kubeconfig)
        self._credential = credentials.create_credential(self._behind)
        self._lives: dict[str, WatchedProcess] = {}
        self._loop = asyncio.new_event_loop()
        self._session: aiohttp.ClientSession
        self._runner: web.AppRunner
        self._port = 0

    def add_process(self, name: str, life: WatchedProcess) -> str:
        """The server of a process with this life."""
        self._lives[name] = life
        return f"http://127.0.0.1:{self._port}/{name}"

    async def open(self) -> None:
        context = tls.create_context(
            self._behind, self._credential, verify=True
        )
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=context),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
        )
        application = web.Application(client_max_size=1 << 26)
        application.router.add_route("*", "/{life}/{rest:.*}", self._pass_on)
        # As the API server has it: who went away is not served further.
        self._runner = web.AppRunner(
            application,
            access_log=None,
            handler_cancellation=True,
            shutdown_timeout=1,
        )
        await self._runner.setup()
        # All connections of a crowd may come in one moment.
        site = web.TCPSite(self._runner, "127.0.0.1", 0, backlog=1024)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def close(self) -> None:
        await self._runner.cleanup()
        await self._session.close()

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        name, _, rest = request.raw_path.lstrip("/").partition("/")
        life = self._lives[name]
        if life.killed:
            return _cut(request)
        body = await request.read()
        what = f"{request.method} /{rest}"
        last = life._is_the_last(what)
        if last and not life.after:
            await life._strike(what)
            if life.killed:
                return _cut(request)
        headers = {
            key: value
            for key, value in request.headers.items()
            if key.lower() not in _OWN
        }
        async with self._session.request(
            request.method,
            yarl.URL(
                f"{self._behind.server}/{life.asked(rest)}", encoded=True
            ),
            data=body or None,
            headers={**headers, **self._credential.headers},
            allow_redirects=False,
        ) as answer:
            whole = answer.content_length is not None
            content = await answer.read() if whole else b""
            if last and life.after:
                await life._strike(what)
            if life.killed:
                return _cut(request)
            kept = {
                key: value
                for key, value in answer.headers.items()
                if key.lower() not in (*_OWN, "content-length")
            }
            if whole:
                return web.Response(
                    status=answer.status, headers=kept, body=content
                )
            return await _streamed(request, answer, kept)


async def _streamed(
    request: web.Request, answer: aiohttp.ClientResponse, headers: object
) -> web.StreamResponse:
    passed = web.StreamResponse(status=answer.status, headers=headers)
    # A client that disconnects in the middle of a watch is not an error.
    with contextlib.suppress(ConnectionError, aiohttp.ClientError):
        await passed.prepare(request)
        async for chunk in answer.content.iter_any():
            await passed.write(chunk)
        await passed.write_eof()
    return passed


def _cut(request: web.Request) -> web.Response:
    """No server answers."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


@contextlib.contextmanager
def open_gate(kubeconfig: str) -> Iterator[ApiGate]:
    """A gate before the API server of this kubeconfig, on a loop of its own.

    The loop has a thread, so that lives end while others wait for them.
    """
    gate = ApiGate(kubeconfig)
    loop = gate._loop
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(gate.open(), loop).result(30)
        yield gate
    finally:
        asyncio.run_coroutine_threadsafe(gate.close(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
