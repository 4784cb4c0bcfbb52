"""Answers of a server on the loopback interface, one after the other."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import dataclasses
import http.server
import json
import threading
from typing import Any
import urllib.parse


@dataclasses.dataclass
class SentRequest:
    """One request as the server got it."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    connection: Any = None


Reply = Callable[["Handler"], None]


class ScriptedServer:
    """Answers requests in turn, then with 404."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.sent: list[SentRequest] = []
        self.over = threading.Event()

    def then(self, *replies: Reply) -> None:
        self.replies.extend(replies)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: ScriptedServer

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        self.script.sent.append(
            SentRequest(
                self.command,
                self.path,
                dict(self.headers),
                self.read(body) if body else None,
                self.client_address,
            )
        )
        replies = self.script.replies
        reply = (
            replies.pop(0)
            if replies
            else answer_json(404, "404 page not found")
        )
        reply(self)

    do_GET = do_PATCH = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

    def read(self, body: bytes) -> Any:
        if "form" in self.headers.get("Content-Type", ""):
            return dict(urllib.parse.parse_qsl(body.decode()))
        return json.loads(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a test shows what was sent when it fails."""

    def write(self, code: int, text: str, headers: dict[str, str]) -> None:
        data = text.encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def answer_json(code: int, body: Any, **headers: str) -> Reply:
    """An answer: a mapping as JSON, text as it is."""
    text = body if isinstance(body, str) else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.write(code, text, named)


def answer_status(
    code: int, message: str, reason: str = "", **more: Any
) -> Reply:
    """An answer as the API server refuses something."""
    body = {
        "kind": "Status",
        "message": message,
        "reason": reason,
        "code": code,
        **more,
    }
    return answer_json(code, body)


def close_connection(handler: Handler) -> None:
    """The connection ends without an answer."""
    handler.close_connection = True


def answer_events(*given: Any, end: str = "proper") -> Reply:
    """A watch; it ends as it should, or by a broken connection."""

    def reply(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for event in given:
            text = event if isinstance(event, str) else json.dumps(event)
            # In two parts, as a network may bring it.
            for part in (text[:7], text[7:] + "\n"):
                data = part.encode()
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                handler.wfile.flush()
        if end == "proper":
            handler.wfile.write(b"0\r\n\r\n")
        else:
            handler.close_connection = True

    return reply


def answer_slowly(before: str, drop: str) -> Reply:
    """An answer of which a drop comes every 20 ms, for a minute."""

    def reply(handler: Handler) -> None:
        handler.close_connection = True
        handler.wfile.write(before.replace("\n", "\r\n").encode())
        text = drop.replace("\n", "\r\n").encode()
        with contextlib.suppress(ConnectionError):
            for _ in range(3000):
                handler.wfile.write(text)
                if handler.script.over.wait(0.02):
                    break

    return reply
