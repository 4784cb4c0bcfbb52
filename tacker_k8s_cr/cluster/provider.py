"""One exchange with an OpenID provider: a token for a password."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import dataclasses
import json
import math
import time
from typing import Any
import urllib.parse

import urllib3
from urllib3 import exceptions

from tacker_k8s_cr.cluster import failures
from tacker_k8s_cr.cluster import pools
from tacker_k8s_cr.cluster import tls
from tacker_k8s_cr.cluster.answers import Again
from tacker_k8s_cr.deadline import Clock
from tacker_k8s_cr.errors import NoToken
from tacker_k8s_cr.errors import Unreachable
from tacker_k8s_cr.kubeconfig import Kubeconfig
from tacker_k8s_cr.kubeconfig import OpenId
from tacker_k8s_cr.kubeconfig import jwt

_EARLY = 0.2
"""Part of a token's life that is left when another is fetched."""

_EARLIEST = 60.0
"""Seconds before the end of a long-lived token when that is done."""


@dataclasses.dataclass(frozen=True, repr=False)
class Token:
    """What requests bear, and on the monotonic clock until when.

    :param refresh: for the next one without the password; may be empty.
    :param until: then another is fetched.
    :param end: then it no longer holds.
    """

    text: str
    refresh: str = ""
    until: float = math.inf
    end: float = math.inf


def fetched(
    kubeconfig: Kubeconfig,
    user: OpenId,
    refresh: str,
    seconds: float,
    clock: Clock,
) -> Token:
    """With the refresh token if there is one, else with the password.

    :param seconds: for both, where the one does not do.
    """
    begun = clock()
    client = {"client_id": user.client_id, "client_secret": user.client_secret}
    if refresh:
        form = {"grant_type": "refresh_token", "refresh_token": refresh}
        # It may be used up or have ended, or bring no ID token.
        with contextlib.suppress(NoToken):
            answer = _asked(kubeconfig, user, {**form, **client}, seconds)
            return _token(kubeconfig, user, answer, refresh, clock)
    form = {
        "grant_type": "password",
        "scope": user.scope,
        "username": user.username,
        "password": user.password,
    }
    left = seconds - (clock() - begun)
    if left <= 0:
        why = "its answers take too long"
        raise Again(NoToken(user.url, why, kubeconfig.where), patience=20.0)
    answer = _asked(kubeconfig, user, {**form, **client}, left)
    return _token(kubeconfig, user, answer, "", clock)


def _asked(
    kubeconfig: Kubeconfig,
    user: OpenId,
    form: Mapping[str, str],
    seconds: float,
) -> Mapping[str, Any]:
    parts = urllib.parse.urlsplit(user.url)
    place = Kubeconfig(
        where=kubeconfig.where,
        server=f"{parts.scheme}://{parts.netloc}",
        ca=user.ca or kubeconfig.ca,
        proxy=kubeconfig.proxy,
    )
    context = tls.trusting(place, system=not user.ca)
    body = urllib.parse.urlencode({k: v for k, v in form.items() if v})
    pool = pools.pool(place, context, 1)
    try:
        response = pool.urlopen(
            "POST",
            parts.path or "/",
            body,
            {
                "Accept": "application/json",
                "Content-Type": "application/x-www-form-urlencoded",
                "User-Agent": "tacker-k8s-cr",
            },
            retries=False,
            redirect=False,
            timeout=urllib3.Timeout(total=seconds),
        )
    except (exceptions.HTTPError, OSError) as error:
        raise _unreached(kubeconfig, user, error) from error
    finally:
        pool.close()
    answer = _json(response.data)
    if response.status == 200:
        return answer
    refusal = NoToken(
        user.url, _said(response.status, answer, user), kubeconfig.where
    )
    if response.status == 429 or response.status >= 500:
        raise Again(refusal, patience=20.0)
    raise refusal


def _unreached(
    kubeconfig: Kubeconfig, user: OpenId, error: Exception
) -> NoToken | Again:
    meaning = failures.meaning(user.url, error)
    why = meaning.why if isinstance(meaning, Again) else meaning
    said = why.why if isinstance(why, Unreachable) else str(why)
    why_not = f"it cannot be reached: {said}"
    refusal = NoToken(user.url, why_not, kubeconfig.where)
    if isinstance(meaning, Again):
        return Again(refusal, meaning.after, meaning.patience)
    return refusal


def _said(status: int, answer: Mapping[str, Any], user: OpenId) -> str:
    """The provider's own words, should it repeat a secret without that."""
    parts = [str(answer.get(k) or "") for k in ("error", "error_description")]
    said = ": ".join(filter(None, parts))[:300]
    for secret in filter(None, (user.password, user.client_secret)):
        said = said.replace(secret, "***")
    return f"{said} ({status})" if said else f"it answers {status}"


def _token(
    kubeconfig: Kubeconfig,
    user: OpenId,
    answer: Mapping[str, Any],
    refresh: str,
    clock: Clock,
) -> Token:
    text = answer.get("id_token")
    if not isinstance(text, str) or not text:
        why = "its answer has no ID token; does the scope include openid?"
        raise NoToken(user.url, why, kubeconfig.where)
    new = answer.get("refresh_token")
    life = jwt.life(text, time.time())
    if life is None or life <= 0:
        # It says nothing that could be true: it holds until it is refused.
        return Token(text, new if isinstance(new, str) else refresh)
    now = clock()
    early = min(_EARLIEST, life * _EARLY)
    return Token(
        text,
        new if isinstance(new, str) else refresh,
        now + life - early,
        now + life,
    )


def _json(data: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
