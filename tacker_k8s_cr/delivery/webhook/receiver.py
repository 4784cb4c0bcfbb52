"""The receiver of messages, and their signatures.

https://www.standardwebhooks.com specifies what is signed, and how.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import hmac
from urllib import parse

from tacker_k8s_cr.model.errors import RequestInvalid

KEY_BYTES = 24
"""Minimum size of a signing key according to the specification."""


@dataclasses.dataclass(frozen=True, repr=False)
class Receiver:
    """The URL of a receiver, with its credentials and signing keys.

    :param secrets: signing keys in base64, with or without ``whsec_``. Each of
        several, as during a key rotation, creates a signature.
    :param token: a bearer token, instead of a user and password.
    :param ca_file: certificates to trust, instead of certifi's.
    :param insecure: do not verify the receiver's certificate.
    :param allow_http: accept a URL without TLS.

    Only the URL without its secret parts can be printed.
    """

    url: str
    secrets: tuple[str, ...] = ()
    token: str = ""
    user: str = ""
    password: str = ""
    ca_file: str = ""
    insecure: bool = False
    allow_http: bool = False

    def __post_init__(self) -> None:
        parts = parse_url(self.url)
        if parts.scheme == "http" and not self.allow_http:
            raise RequestInvalid(
                f"webhook: {self.shown} has no TLS, which is not allowed "
                "here; wanted: a URL with https://"
            )
        if self.token and (self.user or parts.username):
            raise RequestInvalid(
                f"webhook: {self.shown} has both a bearer token and a user; "
                "wanted: one of the two"
            )
        for text in (self.token, self.user, self.password):
            if not (text.isascii() and text.isprintable()):
                raise RequestInvalid(
                    f"webhook: a credential for {self.shown} has characters "
                    "that a header cannot hold"
                )
        for secret in self.secrets:
            _key(secret)

    def __repr__(self) -> str:
        return f"Receiver({self.shown!r})"

    @property
    def shown(self) -> str:
        """The URL without user information and query."""
        parts = parse_url(self.url)
        return parse.urlunsplit(
            (parts.scheme, host(parts), parts.path, "", "")
        )

    @property
    def id(self) -> str:
        """An id that distinguishes receivers with the same shown URL."""
        parts = parse_url(self.url)
        bare = parse.urlunsplit(parts._replace(netloc=host(parts)))
        return hashlib.sha256(bare.encode()).hexdigest()[:16]


def message_id(body: bytes) -> str:
    """Return the same id for the same content, to identify repeats."""
    return "msg_" + hashlib.sha256(body).hexdigest()[:32]


def signature(secret: str, id_: str, timestamp: int, body: bytes) -> str:
    """Return a signature of version 1, in the form of the header."""
    signed = f"{id_}.{timestamp}.".encode() + body
    digest = hmac.new(_key(secret), signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise RequestInvalid(
            "webhook: the signing secret is not base64 (whsec_ may stand "
            "before it)"
        ) from None
    if len(key) < KEY_BYTES:
        raise RequestInvalid(
            f"webhook: the signing secret has {len(key)} bytes; wanted: at "
            f"least {KEY_BYTES}"
        )
    return key


def parse_url(url: str) -> parse.SplitResult:
    try:
        parts = parse.urlsplit(url)
        fine = parts.scheme in ("http", "https") and parts.hostname
        _ = parts.port
    except ValueError:
        fine = None
    if not fine:
        # Not shown: an invalid URL may contain a password anywhere.
        raise RequestInvalid(
            "webhook: the URL cannot be read; wanted: https://HOST/PATH"
        )
    return parts


def host(parts: parse.SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]
