"""Tokens of an OpenID provider, for a user name and a password.

All operations of a process share the token of one user: it is fetched once,
by one thread, before it ends, and again when an API server refuses it. It
is in memory only; neither it nor the password is ever logged.
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

from tacker_k8s_cr.cluster import provider
from tacker_k8s_cr.cluster.answers import Again
from tacker_k8s_cr.deadline import Clock
from tacker_k8s_cr.errors import NoToken
from tacker_k8s_cr.kubeconfig import Kubeconfig
from tacker_k8s_cr.kubeconfig import OpenId

LOG = logging.getLogger(__name__)

_SECONDS = 10.0
"""For an answer of the provider."""

_HASTE = 3.0
"""The same while there is a token that still holds."""

_PAUSE = 5.0
"""Seconds until a provider that did not answer is asked early again."""

_SULK = 10.0
"""Seconds for which a refusal holds: many threads must not each try a wrong
password, since providers lock a user out after a few."""

_MOST = 256
"""Users whose tokens are kept."""


def token(
    kubeconfig: Kubeconfig, refused: str = "", clock: Clock = time.monotonic
) -> provider.Token:
    """A token that holds now, other than the refused one.

    Raises NoToken, or Again where the provider may answer in a moment.
    """
    assert kubeconfig.openid is not None  # noqa: S101
    key = os.getpid(), _name(kubeconfig)
    found = _USERS.get(key)
    if found is None:
        while len(_USERS) >= _MOST:
            with contextlib.suppress(KeyError, RuntimeError):
                _USERS.pop(next(iter(_USERS)))
        found = _USERS.setdefault(key, _User())
    return found.token(kubeconfig, kubeconfig.openid, refused, clock)


class _User:
    """The token of one user, for all threads of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: provider.Token | None = None
        self._refusal: NoToken | None = None
        self._forget = 0.0

    def token(
        self, kubeconfig: Kubeconfig, user: OpenId, refused: str, clock: Clock
    ) -> provider.Token:
        held = self._usable(refused, clock)
        if held and clock() < held.until:
            return held
        # One thread fetches; who has a token that holds does not wait.
        if not self._lock.acquire(blocking=held is None):
            assert held is not None  # noqa: S101
            return held
        try:
            held = self._usable(refused, clock)
            if held and clock() < held.until:
                return held
            self._held = self._next(kubeconfig, user, held, clock)
            return self._held
        finally:
            self._lock.release()

    def _usable(self, refused: str, clock: Clock) -> provider.Token | None:
        held = self._held
        if held is None or held.text == refused:
            return None
        return held if clock() < held.end else None

    def _next(
        self,
        kubeconfig: Kubeconfig,
        user: OpenId,
        held: provider.Token | None,
        clock: Clock,
    ) -> provider.Token:
        """Another token, or the one that still holds."""
        now = clock()
        if self._refusal is not None and now < self._forget:
            # Not the same error: who catches it adds to it.
            raise dataclasses.replace(self._refusal)
        self._refusal = None
        seconds = _HASTE if held else _SECONDS
        refresh = self._held.refresh if self._held else ""
        try:
            return provider.fetched(kubeconfig, user, refresh, seconds, clock)
        except (Again, NoToken) as error:
            if held is not None:
                said = error.why if isinstance(error, Again) else error
                LOG.warning("%s; the token that we have still holds", said)
                return dataclasses.replace(held, until=now + _PAUSE)
            if isinstance(error, NoToken):
                self._refusal = error
                self._forget = clock() + _SULK
            raise


_USERS: dict[tuple[int, str], _User] = {}
"""By process, since a fork must not use its parent's locks."""


def _name(kubeconfig: Kubeconfig) -> str:
    """Of the user, and of all that the provider is trusted by."""
    assert kubeconfig.openid is not None  # noqa: S101
    parts = [
        *dataclasses.astuple(kubeconfig.openid),
        kubeconfig.where,
        kubeconfig.ca,
        kubeconfig.proxy,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
