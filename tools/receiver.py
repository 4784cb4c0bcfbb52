"""A webhook receiver on 127.0.0.1, for the tests and the demonstration.

It is written from the Standard Webhooks specification alone and shares no
code with the sender, so that a signature which it accepts proves something.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from collections.abc import Mapping
import contextlib
import dataclasses
import datetime
import hashlib
import hmac

# Not by the attribute of http: eventlet, which Tacker imports, replaces it.
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
import ipaddress
import json
import os
import pathlib
import ssl
import threading
import time
from types import TracebackType
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

TOLERANCE = 300
"""Seconds by which the sender's clock may differ, as the specification has
it."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """What to answer to one request, instead of judging it.

    :param silent: say nothing until the receiver is closed.
    """

    status: int
    body: str = ""
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    silent: bool = False


@dataclasses.dataclass(frozen=True)
class ReceivedRequest:
    """One request as it came, and whether its signature is right."""

    path: str
    headers: Mapping[str, str]
    body: bytes = dataclasses.field(repr=False)
    signed: bool = False

    @property
    def message(self) -> Any:
        return json.loads(self.body)

    @property
    def id(self) -> str:
        return self.headers.get("webhook-id", "")


def is_signature_valid(
    headers: Mapping[str, str], body: bytes, secret: str, now: float
) -> bool:
    """Whether one of the signatures was made with the secret, lately."""
    stamp = headers.get("webhook-timestamp", "")
    if not stamp.isdigit() or abs(now - int(stamp)) > TOLERANCE:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    signed = f"{headers.get('webhook-id', '')}.{stamp}.".encode() + body
    expected = hmac.new(key, signed, hashlib.sha256).digest()
    for one in headers.get("webhook-signature", "").split():
        version, _, value = one.partition(",")
        with contextlib.suppress(binascii.Error):
            if version == "v1" and hmac.compare_digest(
                base64.b64decode(value, validate=True), expected
            ):
                return True
    return False


class Receiver:
    """Takes messages from when the context is entered until it is left.

    :param folder: where its certificate goes; the CA's is ``ca_file``.
    :param secret: what messages must be signed with; empty for any.
    :param answers: for the first requests, one after the other; later ones
        are judged by their signature (204, or 401).
    """

    def __init__(
        self,
        folder: pathlib.Path,
        secret: str = "",
        answers: Iterable[Answer] = (),
        *,
        tls: bool = True,
    ):
        self.secret = secret
        self.posted: list[ReceivedRequest] = []
        self.ca_file = folder / "receiver-ca.pem"
        self.closing = threading.Event()
        self._answers = iter(tuple(answers))
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(create_certificate(folder, self.ca_file))
            self._server.socket = context.wrap_socket(
                self._server.socket,
                server_side=True,
                # Else a client that sends nothing would block all others.
                do_handshake_on_connect=False,
            )
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )

    @property
    def accepted(self) -> Mapping[str, ReceivedRequest]:
        """Messages that were rightly signed, each once, by their id."""
        return {posted.id: posted for posted in self.posted if posted.signed}

    def open(self) -> Receiver:
        self._thread.start()
        return self

    def close(self) -> None:
        """May be called again."""
        if self.closing.is_set():
            return
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Receiver:
        return self.open()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _accept(
        self, path: str, headers: Mapping[str, str], body: bytes
    ) -> Answer:
        signed = not self.secret or is_signature_valid(
            headers, body, self.secret, time.time()
        )
        with self._lock:
            scripted = next(self._answers, None)
            fine = signed and scripted is None
            self.posted.append(ReceivedRequest(path, headers, body, fine))
        if scripted is not None:
            return scripted
        return Answer(204) if signed else Answer(401, "wrong signature")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 30

            def do_POST(self) -> None:
                size = int(self.headers.get("content-length", "0"))
                headers = {k.lower(): v for k, v in self.headers.items()}
                answer = receiver._accept(
                    self.path, headers, self.rfile.read(size)
                )
                if answer.silent:
                    receiver.closing.wait()
                    self.close_connection = True
                    return
                said = answer.body.encode()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                if answer.status != 204:
                    self.send_header("content-length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing: the user of the receiver reads posted."""

            def handle(self) -> None:
                # A client that does not trust the certificate disconnects in
                # the handshake.
                with contextlib.suppress(ssl.SSLError, ConnectionError):
                    super().handle()

            def finish(self) -> None:
                with contextlib.suppress(ssl.SSLError, ConnectionError):
                    super().finish()

        return Handler


def create_certificate(
    folder: pathlib.Path, ca_file: pathlib.Path
) -> pathlib.Path:
    """A certificate for 127.0.0.1 and its key in one file; the CA's apart."""
    now = datetime.datetime.now(datetime.timezone.utc)
    ca_key = ec.generate_private_key(ec.SECP256R1())
    key = ec.generate_private_key(ec.SECP256R1())
    ca_name = _name("webhook receiver CA")

    def builder(subject: x509.Name) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(ca_name)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + datetime.timedelta(days=1))
        )

    ca = (
        builder(ca_name)
        .public_key(ca_key.public_key())
        .add_extension(x509.BasicConstraints(True, 0), critical=True)
        .add_extension(_signs_certificates(), critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()),
            critical=False,
        )
        .sign(ca_key, hashes.SHA256())
    )
    address = x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))
    certificate = (
        builder(_name("webhook receiver"))
        .public_key(key.public_key())
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(
                ca_key.public_key()
            ),
            critical=False,
        )
        .sign(ca_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    ca_file.write_bytes(ca.public_bytes(pem))
    found = folder / "receiver.pem"
    with open(os.open(found, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(certificate.public_bytes(pem))
        file.write(
            key.private_bytes(
                pem,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
    return found


def _signs_certificates() -> x509.KeyUsage:
    """What Python 3.13 and later demand of a certificate authority."""
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])
