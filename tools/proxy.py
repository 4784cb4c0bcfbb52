"""A proxy on 127.0.0.1 that asks for a name and password.

No API server takes them any more, but what stands before one may: it looks
who it is, and passes the request on with that name, as kube-apiserver's
impersonation has it. For tests.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
import contextlib
import hmac

# Not by the attribute of http: eventlet, which Tacker imports, replaces it.
from http.client import HTTPResponse
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
import json
import pathlib
import ssl
import tempfile
import threading
from types import TracebackType
import urllib.parse

from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tools.plane import certificates
from tools.plane.folders import write_private

_OWN = ("authorization", "connection", "host", "transfer-encoding")
"""Headers that are between two neighbours."""


class Proxy:
    """Runs from when the context is entered until it is left.

    :param folder: where its keys go; ``ca`` vouches for it.
    :param kubeconfig: of an administrator of the API server behind it.
    :param users: by name, the password.
    :param version: the Kubernetes version that ``/version`` reports instead
        of that of the API server.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        kubeconfig: pathlib.Path,
        users: Mapping[str, str],
        version: str = "",
    ):
        self.users = users
        self.version = version
        self.refused = 0
        self.served: list[str] = []
        self._behind = kubeconfigs.load(str(kubeconfig))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self.ca = self._certified(folder)
        self.url = f"https://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def authenticate(self, header: str) -> str:
        """The user and password in a header; empty if there are none."""
        scheme, _, encoded = header.partition(" ")
        if scheme != "Basic":
            return ""
        try:
            name, _, word = base64.b64decode(encoded).decode().partition(":")
        except ValueError:
            return ""
        right = self.users.get(name, "")
        same = hmac.compare_digest(word.encode(), right.encode())
        return name if right and same else ""

    def behind(self) -> HTTPSConnection:
        """A connection to the API server, as the administrator."""
        parts = urllib.parse.urlsplit(self._behind.server)
        context = ssl.create_default_context(cadata=self._behind.ca)
        with tempfile.NamedTemporaryFile() as pem:
            both = self._behind.client_certificate + self._behind.client_key
            pem.write(both.encode())
            pem.flush()
            context.load_cert_chain(pem.name)
        return HTTPSConnection(
            parts.hostname or "", parts.port, context=context
        )

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(_Handler):
            of = proxy

        return Handler

    def _certified(self, folder: pathlib.Path) -> str:
        own = certificates.create_server_certificate("proxy")
        path = folder / "proxy.pem"
        write_private(path, own.certificate + own.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        self._server.socket = context.wrap_socket(
            self._server.socket,
            server_side=True,
            # Else a client that sends nothing would block all others.
            do_handshake_on_connect=False,
        )
        return own.ca.decode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    of: Proxy

    def setup(self) -> None:
        super().setup()
        self.behind = self.of.behind()

    def finish(self) -> None:
        self.behind.close()
        super().finish()

    def handle(self) -> None:
        # A client that disconnects in the middle of a watch is not an error.
        with contextlib.suppress(OSError):
            super().handle()

    def answer(self) -> None:
        size = int(self.headers.get("content-length", "0"))
        body = self.rfile.read(size)
        name = self.of.authenticate(self.headers.get("authorization", ""))
        if not name:
            self.of.refused += 1
            self.send_response(401)
            self.send_header("www-authenticate", "Basic")
            self.send_header("content-length", "0")
            self.end_headers()
            return
        self.of.served.append(name)
        headers = {
            key: value
            for key, value in self.headers.items()
            if key.lower() not in _OWN
            and not key.lower().startswith("impersonate-")
        }
        headers["Impersonate-User"] = name
        self.behind.request(self.command, self.path, body or None, headers)
        response = self.behind.getresponse()
        if self.of.version and self.path.partition("?")[0] == "/version":
            self._answer_version(response)
        else:
            self._forward(response)

    do_GET = do_PATCH = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

    def _answer_version(self, response: HTTPResponse) -> None:
        """Send the server's answer with the other version."""
        major, minor, _ = self.of.version.lstrip("v").split(".")
        body = json.dumps(
            {
                **json.loads(response.read()),
                "major": major,
                "minor": minor,
                "gitVersion": self.of.version,
            }
        ).encode()
        self.send_response(response.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _forward(self, response: HTTPResponse) -> None:
        self.send_response(response.status)
        for key, value in response.getheaders():
            if key.lower() not in _OWN:
                self.send_header(key, value)
        whole = response.getheader("content-length") is not None
        if not whole:
            self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        while chunk := response.read1(1 << 16):
            if not whole:
                self.wfile.write(b"%x\r\n" % len(chunk))
            self.wfile.write(chunk)
            if not whole:
                self.wfile.write(b"\r\n")
                self.wfile.flush()
        if not whole:
            self.wfile.write(b"0\r\n\r\n")
        # Else the connection would not take another request.
        response.close()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: a test reads what was served."""
