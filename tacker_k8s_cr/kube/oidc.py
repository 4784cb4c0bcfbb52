"""Keep the tokens of OpenID Connect users, one for each user of a process.

One thread requests a token before the last one expires, and again when an API
server refuses it. Tokens are in memory only; neither they nor passwords are
logged.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import logging
import os
import threading
import time

from tacker_k8s_cr.kube import oidc_token
from tacker_k8s_cr.kube.http.http_model import Retryable
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.kubeconfig import OidcUser
from tacker_k8s_cr.kube.single_flight import acquire_before
from tacker_k8s_cr.model.deadline import Clock
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import TokenRequestFailed

LOG = logging.getLogger(__name__)

_SECONDS = 10.0
"""Seconds for an answer of the provider."""

_SECONDS_WITH_TOKEN = 3.0
"""The same while there is a valid token."""

_PAUSE = 5.0
"""Seconds between attempts to renew a token that is still valid."""

_REFUSAL_SECONDS = 10.0
"""Seconds for which a refusal is cached: providers lock a user out after a few
attempts with a wrong password, so only one thread may make one."""

_SILENCE_SECONDS = 1.0
"""Seconds for which a missing answer is cached: threads that waited for it
must not each wait for the provider again."""

_NEVER = Deadline.never()

_MAX_USERS = 256
"""Maximum number of users whose tokens are kept."""


def token(
    kubeconfig: Kubeconfig,
    refused: str = "",
    deadline: Deadline = _NEVER,
    clock: Clock = time.monotonic,
) -> oidc_token.OidcToken:
    """Return a valid token other than the refused one.

    :raises TokenRequestFailed: by the provider's refusal.
    :raises Retryable: if the provider did not answer, or not in time.
    """
    key = os.getpid(), _name(kubeconfig)
    user = _USERS.get(key)
    if user is None:
        while len(_USERS) >= _MAX_USERS:
            with contextlib.suppress(KeyError, RuntimeError):
                _USERS.pop(next(iter(_USERS)))
        user = _USERS.setdefault(key, _User())
    return user.token(kubeconfig, refused, deadline, clock)


@dataclasses.dataclass(frozen=True)
class _Failure:
    """Why there is no token, cached for all threads.

    :param patience: None if a retry is useless.
    """

    why: TokenRequestFailed
    patience: float | None
    until: float

    def to_error(self, now: float) -> TokenRequestFailed | Retryable:
        """Return a copy of the error, since callers add to it."""
        why = dataclasses.replace(self.why)
        if self.patience is None:
            return why
        return Retryable(why, self.until - now, self.patience)


class _User:
    """The token of one user, for all threads of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._token: oidc_token.OidcToken | None = None
        self._failure: _Failure | None = None

    def token(
        self,
        kubeconfig: Kubeconfig,
        refused: str,
        deadline: Deadline,
        clock: Clock,
    ) -> oidc_token.OidcToken:
        current = self._valid_token(refused, clock)
        if current and clock() < current.until:
            return current
        # One thread requests it; threads with a valid token do not wait.
        if current and not self._lock.acquire(blocking=False):
            return current
        if not current and not acquire_before(self._lock, deadline):
            raise _deadline_error(kubeconfig)
        try:
            current = self._valid_token(refused, clock)
            if current and clock() < current.until:
                return current
            self._token = self._next_token(
                kubeconfig, current, deadline, clock
            )
            return self._token
        finally:
            self._lock.release()

    def _valid_token(
        self, refused: str, clock: Clock
    ) -> oidc_token.OidcToken | None:
        current = self._token
        if current is None or current.text == refused:
            return None
        return current if clock() < current.end else None

    def _next_token(
        self,
        kubeconfig: Kubeconfig,
        current: oidc_token.OidcToken | None,
        deadline: Deadline,
        clock: Clock,
    ) -> oidc_token.OidcToken:
        """Return another token, or the one that is still valid."""
        now = clock()
        failure = self._failure
        if failure is not None and now < failure.until:
            if current is not None:
                return dataclasses.replace(current, until=failure.until)
            raise failure.to_error(now)
        self._failure = None
        seconds = min(
            _SECONDS_WITH_TOKEN if current else _SECONDS, deadline.remaining
        )
        if not seconds:
            if current is not None:
                return current
            raise _deadline_error(kubeconfig)
        refresh = self._token.refresh if self._token else ""
        try:
            return oidc_token.fetch_token(
                kubeconfig, _openid(kubeconfig), refresh, seconds, clock
            )
        except (Retryable, TokenRequestFailed) as error:
            patience = error.patience if isinstance(error, Retryable) else None
            why = error.why if isinstance(error, Retryable) else error
            if current is not None:
                LOG.warning("%s; the current token is still valid", why)
                return dataclasses.replace(current, until=now + _PAUSE)
            if isinstance(why, TokenRequestFailed):
                cache_seconds = (
                    _REFUSAL_SECONDS if patience is None else _SILENCE_SECONDS
                )
                self._failure = _Failure(
                    why, patience, clock() + cache_seconds
                )
            raise


def _deadline_error(kubeconfig: Kubeconfig) -> Retryable:
    why = "it has not answered by the deadline"
    return Retryable(
        TokenRequestFailed(_openid(kubeconfig).url, why, kubeconfig.where)
    )


def _openid(kubeconfig: Kubeconfig) -> OidcUser:
    assert kubeconfig.openid is not None  # noqa: S101
    return kubeconfig.openid


_USERS: dict[tuple[int, str], _User] = {}
"""By process: a fork must not use the locks of its parent."""


def _name(kubeconfig: Kubeconfig) -> str:
    """Return a digest of the user and of what the trust is based on."""
    parts = [
        *dataclasses.astuple(_openid(kubeconfig)),
        kubeconfig.where,
        kubeconfig.ca,
        kubeconfig.proxy,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
