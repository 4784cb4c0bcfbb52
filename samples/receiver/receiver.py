#!/usr/bin/env python3
"""Register workload clusters as VIMs in Tacker, from messages of a webhook.

A sample: it accepts the messages of the management driver kubeconfig-webhook,
verifies their signatures, and sends requests to Tacker's VIM API. It needs
only Python's standard library. See the README in this folder.
"""

from __future__ import annotations

import argparse
import base64
import binascii
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import hashlib
import hmac
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
import json
import logging
import os
import pathlib
import ssl
import sys
import threading
import time
from typing import Any

from vims import Keystone
from vims import Refused
from vims import Tacker

LOG = logging.getLogger("receiver")

TOLERANCE = 300
"""Seconds by which the time of a message may differ from the clock here."""

LONGEST = 1024 * 1024
"""Bytes of a message; a kubeconfig has about ten thousand."""

ISSUED = "workload-cluster.kubeconfig"
TERMINATED = "workload-cluster.terminated"
VERSION = 2
"""The newest version of messages that is supported."""


# -- Whether a message is genuine --------------------------------------------


def check(
    headers: Mapping[str, str], body: bytes, keys: Sequence[bytes], now: float
) -> None:
    """Raise Refused unless one of the keys signed the message recently.

    https://www.standardwebhooks.com specifies what is signed, and how.

    :param headers: with names in lower case.
    """
    stamp = headers.get("webhook-timestamp", "")
    if not (stamp.isascii() and stamp.isdigit()):
        raise Refused(401, "webhook-timestamp is not a number")
    if abs(now - int(stamp)) > TOLERANCE:
        raise Refused(401, "webhook-timestamp differs by more than 5 minutes")
    signed = f"{headers.get('webhook-id', '')}.{stamp}.".encode() + body
    right = [hmac.new(key, signed, hashlib.sha256).digest() for key in keys]
    for one in headers.get("webhook-signature", "").split():
        version, _, value = one.partition(",")
        if version == "v1" and any(
            hmac.compare_digest(_decoded(value), each) for each in right
        ):
            return
    raise Refused(401, "no signature is valid")


def _decoded(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return b""


def keys_of(text: str) -> list[bytes]:
    """Return the keys in a file: base64, one a line, optionally whsec_."""
    lines = (line.strip().removeprefix("whsec_") for line in text.split())
    return [base64.b64decode(line, validate=True) for line in lines if line]


# -- Messages -----------------------------------------------------------------


@dataclasses.dataclass
class Receiver:
    """Handle messages, one after the other."""

    tacker: Tacker
    keys: Sequence[bytes]
    now: Callable[[], float] = time.time
    lock: Any = dataclasses.field(default_factory=threading.Lock)

    def handle(self, headers: Mapping[str, str], body: bytes) -> str:
        """Handle a message, and return what was done. Raises Refused.

        It is idempotent: a VIM is created once, and removed once.
        """
        check(headers, body, self.keys, self.now())
        try:
            message = json.loads(body)
            kind, data = message["type"], message["data"]
            uid = str(data["cluster"]["uid"])
            if int(message["version"]) > VERSION:
                raise Refused(400, "version of the message is not supported")
            with self.lock:
                if kind == TERMINATED:
                    return self.tacker.remove(uid)
                if kind != ISSUED:
                    return f"{kind} is ignored"
                if not data["vimRegistrable"]:
                    return (
                        f"Cluster {uid} cannot be a VIM: "
                        f"{data['vimRegistrableReason']}"
                    )
                return self.tacker.register(data)
        except (KeyError, TypeError, ValueError) as error:
            why = f"invalid message: {type(error).__name__}"
            raise Refused(400, why) from None


def server(
    receiver: Receiver, address: tuple[str, int], certificate: str = ""
) -> ThreadingHTTPServer:
    """Return the HTTP server; with a certificate and its key, for TLS."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 30

        def do_POST(self) -> None:
            status, said = 204, ""
            try:
                size = int(self.headers.get("content-length", "0"))
                if not 0 < size <= LONGEST:
                    raise Refused(413, "content-length missing or too long")
                headers = {k.lower(): v for k, v in self.headers.items()}
                LOG.info(receiver.handle(headers, self.rfile.read(size)))
            except Refused as refused:
                status, said = refused.status, f"{refused}\n"
                LOG.warning("refused with %s: %s", status, refused)
            self.send_response(status)
            if said:
                self.send_header("content-length", str(len(said.encode())))
            self.end_headers()
            self.wfile.write(said.encode())

        def log_message(self, format: str, *arguments: Any) -> None:
            """Do nothing: do_POST logs."""

    listening = ThreadingHTTPServer(address, Handler)
    listening.daemon_threads = True
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        listening.socket = context.wrap_socket(
            listening.socket,
            server_side=True,
            # Otherwise a client that sends nothing would block all others.
            do_handshake_on_connect=False,
        )
    return listening


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tacker", required=True, metavar="URL")
    parser.add_argument("--tacker-ca", default="", metavar="FILE")
    parser.add_argument(
        "--key-file",
        required=True,
        type=pathlib.Path,
        help="file with the signing keys in base64, one a line",
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", default=8443, type=int)
    parser.add_argument(
        "--certificate",
        default="",
        metavar="FILE",
        help="PEM file with the certificate and its key",
    )
    parser.add_argument(
        "--project",
        default="",
        help="owner of the VIMs in a Tacker without Keystone; with Keystone "
        "it is OS_PROJECT_NAME, beside OS_AUTH_URL, OS_USERNAME, ...",
    )
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    keys = keys_of(given.key_file.read_text())
    if not keys:
        parser.error(f"{given.key_file} has no key")
    token = None
    if "OS_AUTH_URL" in os.environ:
        token = Keystone(os.environ, given.tacker_ca)
    tacker = Tacker(given.tacker, token, given.project, given.tacker_ca)
    address = (given.host, given.port)
    with server(Receiver(tacker, keys), address, given.certificate) as found:
        found.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
