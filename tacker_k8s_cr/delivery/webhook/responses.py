"""What a receiver answered, as far as it may be shown."""

from __future__ import annotations

from collections.abc import Iterable
import datetime
import email.utils

import requests
import urllib3

from tacker_k8s_cr.delivery.webhook import receiver
from tacker_k8s_cr.model.errors import RequestInvalid

BYTES = 4096
"""How much of an answer is read."""

LINE = 200
"""How much of its first line is shown."""

REPEATED = 12
"""So many characters in a row that we sent are not shown again."""


def first_printable_line(answer: requests.Response) -> str:
    """The first line of an answer, whatever it holds, fit to be shown."""
    try:
        said = answer.raw.read1(BYTES, decode_content=True)
    except (urllib3.exceptions.HTTPError, OSError):
        return ""
    line = (said.decode(errors="replace").strip().splitlines() or [""])[0]
    return "".join(c if c.isprintable() else "?" for c in line[:LINE]).strip()


def redact(line: str, sent: Iterable[str]) -> str:
    """The line with each longer piece of what we sent left out."""
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
    """Seconds, from either form of Retry-After (RFC 9110, 10.2.3)."""
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
    """Where a redirect points: scheme and host, nothing more."""
    try:
        parts = receiver.parse_url(location)
    except RequestInvalid:
        return "another path of the same server"
    return f"{parts.scheme}://{receiver.host(parts)}"
