"""Read the expiry and subject of a JSON Web Token, without verifying it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
import datetime
import json
from typing import Any


def expiry(token: str) -> datetime.datetime | None:
    """Return the claim ``exp``; None for a token without it."""
    try:
        return datetime.datetime.fromtimestamp(
            _claims(token)["exp"], datetime.timezone.utc
        )
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        return None


def lifetime(token: str, now: float) -> float | None:
    """Return the lifetime in seconds of a token that was just issued.

    By the clock of the issuer, which may differ from the local one; the local
    clock is used for a token without the time of issue.
    """
    try:
        claims = _claims(token)
        return float(claims["exp"] - claims.get("iat", now))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def subject(token: str) -> str:
    """Return the claim ``sub``, the token's user; empty without it."""
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
