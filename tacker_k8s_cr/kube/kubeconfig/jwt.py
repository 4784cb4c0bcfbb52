"""What a JSON Web Token says of its own time; it is not verified here."""

from __future__ import annotations

import base64
from collections.abc import Mapping
import datetime
import json
from typing import Any


def expiry(token: str) -> datetime.datetime | None:
    """The claim ``exp``; None for a token that says nothing."""
    try:
        return datetime.datetime.fromtimestamp(
            _claims(token)["exp"], datetime.timezone.utc
        )
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        return None


def lifetime(token: str, now: float) -> float | None:
    """Seconds that a token lasts which was made just now.

    By the clock of who made it, which need not agree with ours; a token
    that does not say when it was made is judged by ours.
    """
    try:
        claims = _claims(token)
        return float(claims["exp"] - claims.get("iat", now))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def subject(token: str) -> str:
    """The claim ``sub``: whose token it is; empty if it does not say."""
    try:
        return str(_claims(token).get("sub") or "")
    except (ValueError, TypeError, AttributeError):
        return ""


def _claims(token: str) -> Mapping[str, Any]:
    _, payload, _ = token.split(".")
    claims: Mapping[str, Any] = json.loads(
        base64.urlsafe_b64decode(payload + "==")
    )
    return claims
