"""The parts of a receiver's response that may be shown."""

from __future__ import annotations

from collections.abc import Iterable
import datetime
import email.utils

import requests
import urllib3

from tacker_k8s_cr.delivery.webhook import receiver
from tacker_k8s_cr.model.errors import RequestInvalid

BYTES = 4096
"""Maximum number of bytes read of a response."""

LINE = 200
"""Maximum number of characters shown of its first line."""

REPEATED = 12
"""Minimum length of a part of the request that is not shown."""


def first_printable_line(answer: requests.Response) -> str:
    """Return the first line of a response, as printable text."""
    try:
        said = answer.raw.read1(BYTES, decode_content=True)
    except (urllib3.exceptions.HTTPError, OSError):
        return ""
    line = (said.decode(errors="replace").strip().splitlines() or [""])[0]
    return "".join(c if c.isprintable() else "?" for c in line[:LINE]).strip()


def redact(line: str, sent: Iterable[str]) -> str:
    """Return the line without longer parts of the request."""
    hidden = [False] * len(line)
    for text in sent:
        length = min(REPEATED, len(text))
        for start in range(len(line) - length + 1 if length else 0):
            if line[start : start + length] in text:
                hidden[start : start + length] = [True] * length
    out = ""
    for letter, hide in zip(line, hidden, strict=True):
        out += letter if not hide else "" if out.endswith("…") else "…"
    return out


def retry_after(value: str, now: float) -> float:
    """Return seconds, from either form of Retry-After (RFC 9110, 10.2.3)."""
    if value.strip().isdigit():
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    return max(0.0, moment.timestamp() - now)


def origin(location: str) -> str:
    """Return the scheme and host of a redirect, and nothing more."""
    try:
        parts = receiver.parse_url(location)
    except RequestInvalid:
        return "another path of the same server"
    return f"{parts.scheme}://{receiver.host(parts)}"
