"""Request a token from an OpenID Connect provider for a password.

oauthlib writes the requests and reads the answers. They are sent here: its
transports log passwords, and have no limit for a whole answer.
"""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import dataclasses
import math
import time
from typing import Any
import urllib.parse

import urllib3
from urllib3 import exceptions

from tacker_k8s_cr.kube.http import connection_pool
from tacker_k8s_cr.kube.http import tls
from tacker_k8s_cr.kube.http import transport_errors
from tacker_k8s_cr.kube.http.http_model import Retryable
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.kubeconfig import OidcUser
from tacker_k8s_cr.kube.kubeconfig import jwt
from tacker_k8s_cr.model.deadline import Clock
from tacker_k8s_cr.model.errors import TokenRequestFailed
from tacker_k8s_cr.model.errors import Unreachable

_EARLY = 0.2
"""Share of a token's lifetime that is left when the next one is requested."""

_EARLIEST = 60.0
"""Seconds before the expiry of a long-lived token when that is done."""

_PATIENCE = 20.0
"""Seconds after which a provider that gives no answer is not retried."""


@dataclasses.dataclass(frozen=True, repr=False)
class OidcToken:
    """An ID token, with times on the monotonic clock.

    :param refresh: the refresh token for the next one; may be empty.
    :param until: then the next one is requested.
    :param end: then the token is expired.
    """

    text: str
    refresh: str = ""
    until: float = math.inf
    end: float = math.inf


def fetch_token(
    kubeconfig: Kubeconfig,
    user: OidcUser,
    refresh: str,
    seconds: float,
    clock: Clock,
) -> OidcToken:
    """Request a token with the refresh token, if any, else the password.

    :param seconds: for both, if the refresh token is refused.
    """
    from oauthlib import oauth2

    started = clock()
    client = oauth2.LegacyApplicationClient(user.client_id)
    secret = user.client_secret or None
    if refresh:
        form = client.prepare_refresh_body(
            refresh_token=refresh,
            client_id=user.client_id,
            client_secret=secret,
        )
        # It may be used up or expired, or the answer may have no ID token.
        with contextlib.suppress(TokenRequestFailed):
            answer = _request(kubeconfig, user, form, seconds)
            return _token(kubeconfig, user, answer, refresh, clock)
    remaining = seconds - (clock() - started)
    if remaining <= 0:
        why = "its responses take too long"
        raise Retryable(
            TokenRequestFailed(user.url, why, kubeconfig.where),
            patience=_PATIENCE,
        )
    form = client.prepare_request_body(
        user.username,
        user.password,
        scope=user.scope,
        include_client_id=True,
        client_secret=secret,
    )
    answer = _request(kubeconfig, user, form, remaining)
    return _token(kubeconfig, user, answer, "", clock)


def _request(
    kubeconfig: Kubeconfig, user: OidcUser, form: str, seconds: float
) -> Mapping[str, Any]:
    """Return the fields of the provider's answer."""
    parts = urllib.parse.urlsplit(user.url)
    provider = Kubeconfig(
        where=kubeconfig.where,
        server=f"{parts.scheme}://{parts.netloc}",
        ca=user.ca or kubeconfig.ca,
        proxy=kubeconfig.proxy,
    )
    context = tls.create_trust_context(provider, system=not user.ca)
    pool = connection_pool.create_pool(provider, context, 1)
    try:
        response = pool.urlopen(
            "POST",
            parts.path or "/",
            form,
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
        raise _unreachable(kubeconfig, user, error) from error
    finally:
        pool.close()
    answer, why = _parse_response(response, user)
    if response.status == 200 and not why:
        return answer
    refusal = TokenRequestFailed(user.url, why, kubeconfig.where)
    if response.status == 429 or response.status >= 500:
        raise Retryable(refusal, patience=_PATIENCE)
    raise refusal


def _parse_response(
    response: urllib3.BaseHTTPResponse, user: OidcUser
) -> tuple[Mapping[str, Any], str]:
    """Return the fields of an answer, or why it has no token."""
    from oauthlib import oauth2

    status = response.status
    reader = oauth2.LegacyApplicationClient(user.client_id)
    text = response.data.decode(errors="replace")
    try:
        answer = reader.parse_request_body_response(text)
    except oauth2.MissingTokenError:
        refused = f"it answers {status}"
        return {}, "its answer has no token" if status == 200 else refused
    except oauth2.OAuth2Error as error:
        return {}, _describe_refusal(status, error, user)
    except (AttributeError, TypeError, ValueError):
        # Not from `error`, whose traceback has the tokens of the answer.
        return {}, f"it answers {status}, and not with a token"
    return answer, "" if status == 200 else f"it answers {status}"


def _describe_refusal(status: int, error: Any, user: OidcUser) -> str:
    """Return the provider's message, without secrets that it may contain."""
    # The library has default texts for errors without a description.
    has_description = error.description != type(error).description
    parts = [
        str(error.error or ""),
        str(error.description) if has_description else "",
    ]
    message = ": ".join(filter(None, parts))[:300]
    for secret in filter(None, (user.password, user.client_secret)):
        message = message.replace(secret, "***")
    return f"{message} ({status})" if message else f"it answers {status}"


def _unreachable(
    kubeconfig: Kubeconfig, user: OidcUser, error: Exception
) -> TokenRequestFailed | Retryable:
    meaning = transport_errors.to_error(user.url, error)
    why = meaning.why if isinstance(meaning, Retryable) else meaning
    cause = why.why if isinstance(why, Unreachable) else str(why)
    message = f"it cannot be reached: {cause}"
    refusal = TokenRequestFailed(user.url, message, kubeconfig.where)
    if isinstance(meaning, Retryable):
        return Retryable(refusal, meaning.after, meaning.patience)
    return refusal


def _token(
    kubeconfig: Kubeconfig,
    user: OidcUser,
    answer: Mapping[str, Any],
    refresh: str,
    clock: Clock,
) -> OidcToken:
    text = answer.get("id_token")
    if not isinstance(text, str) or not text:
        why = "its answer has no ID token; does the scope include openid?"
        raise TokenRequestFailed(user.url, why, kubeconfig.where)
    new = answer.get("refresh_token")
    life = jwt.lifetime(text, time.time())
    if life is None or life <= 0:
        # Its times cannot be true: it is used until a server refuses it.
        return OidcToken(text, new if isinstance(new, str) else refresh)
    now = clock()
    early = min(_EARLIEST, life * _EARLY)
    return OidcToken(
        text,
        new if isinstance(new, str) else refresh,
        now + life - early,
        now + life,
    )
