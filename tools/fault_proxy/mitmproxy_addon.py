"""The faults, inside mitmproxy: it runs in an environment of its own.

They are set by a POST to ``/-/faults`` of the proxy itself, as a JSON list of
rules; a GET returns how many requests each of them has met. The first rule
that fits a request is the one that it meets.

Annotations are evaluated here: mitmproxy loads a script as a module that
sys.modules does not have, where dataclasses would look them up.
"""

import asyncio
from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import json
import pathlib
import re
from typing import Any

from mitmproxy import ctx
from mitmproxy import http

CONTROL = "/-/faults"
READY = "port"
"""File in mitmproxy's folder that contains the port it listens on."""


@dataclasses.dataclass
class Rule:
    """A fault, and the requests that meet it; empty or 0 is any.

    :param fault: ``answer`` instead of the server; ``lost``: the server
        carries it out, and its answer is replaced, or omitted without a code;
        ``cut``: half of the body, and the connection ends; ``silent``:
        headers, and nothing more; ``slow``: seconds later.
    :param path: a regular expression for path and query.
    :param token: of the credential.
    :param times: so many requests meet it.
    :param every: of those that fit, only each such one.
    """

    fault: str
    path: str = ""
    methods: list[str] = dataclasses.field(default_factory=list)
    token: str = ""
    times: int = 0
    every: int = 1
    code: int = 0
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    body: str = ""
    seconds: float = 0.0
    fitted: int = 0
    match_count: int = 0

    def is_match(self, request: http.Request) -> bool:
        if self.methods and request.method not in self.methods:
            return False
        if self.path and not re.search(self.path, request.path):
            return False
        bearer = f"Bearer {self.token}"
        if self.token and request.headers.get("authorization") != bearer:
            return False
        if self.times and self.match_count >= self.times:
            return False
        self.fitted += 1
        if self.fitted % self.every:
            return False
        self.match_count += 1
        return True

    def reply(self) -> http.Response:
        headers = {"content-type": "application/json", **self.headers}
        return http.Response.make(self.code, self.body, headers)


class FaultAddon:
    """The addon that mitmproxy calls."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []

    def running(self) -> None:
        server = ctx.master.addons.get("proxyserver")
        _, port, *_ = server.listen_addrs()[0]
        folder = pathlib.Path(ctx.options.confdir)
        draft = folder / f".{READY}"
        draft.write_text(str(port))
        draft.rename(folder / READY)

    async def request(self, flow: http.HTTPFlow) -> None:
        if flow.request.path == CONTROL:
            flow.response = self._control(flow.request)
            return
        rule = next((r for r in self.rules if r.is_match(flow.request)), None)
        if rule is None:
            return
        flow.metadata["rule"] = rule
        if rule.fault == "answer":
            flow.response = rule.reply()
        elif rule.fault == "slow":
            await asyncio.sleep(rule.seconds)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """A watch is passed on as it comes."""
        if "watch=true" not in flow.request.path or flow.response is None:
            return
        rule = flow.metadata.get("rule")
        if rule and rule.fault == "silent":
            flow.response.stream = _nothing
        elif rule and rule.fault == "cut":
            flow.response.stream = _half(flow)
        else:
            flow.response.stream = True

    def response(self, flow: http.HTTPFlow) -> None:
        rule = flow.metadata.get("rule")
        if rule is None or flow.response is None or flow.response.stream:
            return
        if rule.fault == "lost" and rule.code:
            flow.response = rule.reply()
        elif rule.fault == "lost":
            flow.kill()
        elif rule.fault == "cut":
            whole = flow.response.raw_content or b""
            flow.response.raw_content = whole[: len(whole) // 2]
            flow.response.headers["content-length"] = str(len(whole))
            flow.response.headers["connection"] = "close"
            flow.response.headers.pop("transfer-encoding", None)

    def _control(self, request: http.Request) -> http.Response:
        if request.method == "POST":
            told = json.loads(request.content or b"[]")
            self.rules = [Rule(**rule) for rule in told]
        counts = json.dumps([rule.match_count for rule in self.rules])
        return http.Response.make(200, counts)


def _nothing(data: bytes) -> Iterable[bytes]:
    return ()


def _half(flow: http.HTTPFlow) -> Callable[[bytes], Any]:
    """Half of what comes first; what ends the body does not come either."""
    cut = False

    def stream(data: bytes) -> bytes | Iterable[bytes]:
        nonlocal cut
        if cut or not data:
            return ()
        cut = True
        asyncio.get_running_loop().call_later(0.05, _abort, flow)
        return data[: len(data) // 2] or ()

    return stream


def _abort(flow: http.HTTPFlow) -> None:
    server = ctx.master.addons.get("proxyserver")
    for handler in server.connections.values():
        found = handler.transports.get(flow.client_conn)
        if found and found.writer:
            found.writer.transport.abort()


addons = [FaultAddon()]
