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
from tacker_k8s_cr.cluster.turns import taken
from tacker_k8s_cr.deadline import Clock
from tacker_k8s_cr.deadline import Deadline
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

_MOMENT = 1.0
"""Seconds for which it holds that a provider did not answer: all who waited
for it must not each try it, one after the other."""

_NEVER = Deadline.never()

_MOST = 256
"""Users whose tokens are kept."""


def token(
    kubeconfig: Kubeconfig,
    refused: str = "",
    deadline: Deadline = _NEVER,
    clock: Clock = time.monotonic,
) -> provider.Token:
    """A token that holds now, other than the refused one.

    Raises NoToken, or Again where the provider may answer in a moment, or
    had no time to.
    """
    key = os.getpid(), _name(kubeconfig)
    found = _USERS.get(key)
    if found is None:
        while len(_USERS) >= _MOST:
            with contextlib.suppress(KeyError, RuntimeError):
                _USERS.pop(next(iter(_USERS)))
        found = _USERS.setdefault(key, _User())
    return found.token(kubeconfig, refused, deadline, clock)


@dataclasses.dataclass(frozen=True)
class _Failure:
    """Why there was no token, for all who want one until some moment.

    :param patience: None where another try would not do either.
    """

    why: NoToken
    patience: float | None
    until: float

    def again(self, now: float) -> NoToken | Again:
        """Not the same error twice: who catches it adds to it."""
        why = dataclasses.replace(self.why)
        if self.patience is None:
            return why
        return Again(why, self.until - now, self.patience)


class _User:
    """The token of one user, for all threads of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: provider.Token | None = None
        self._failure: _Failure | None = None

    def token(
        self,
        kubeconfig: Kubeconfig,
        refused: str,
        deadline: Deadline,
        clock: Clock,
    ) -> provider.Token:
        held = self._usable(refused, clock)
        if held and clock() < held.until:
            return held
        # One thread fetches; who has a token that holds does not wait.
        if held and not self._lock.acquire(blocking=False):
            return held
        if not held and not taken(self._lock, deadline):
            raise _too_late(kubeconfig)
        try:
            held = self._usable(refused, clock)
            if held and clock() < held.until:
                return held
            self._held = self._next(kubeconfig, held, deadline, clock)
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
        held: provider.Token | None,
        deadline: Deadline,
        clock: Clock,
    ) -> provider.Token:
        """Another token, or the one that still holds."""
        now = clock()
        failure = self._failure
        if failure is not None and now < failure.until:
            if held is not None:
                return dataclasses.replace(held, until=failure.until)
            raise failure.again(now)
        self._failure = None
        seconds = min(_HASTE if held else _SECONDS, deadline.left)
        if not seconds:
            if held is not None:
                return held
            raise _too_late(kubeconfig)
        refresh = self._held.refresh if self._held else ""
        try:
            return provider.fetched(
                kubeconfig, _openid(kubeconfig), refresh, seconds, clock
            )
        except (Again, NoToken) as error:
            patience = error.patience if isinstance(error, Again) else None
            why = error.why if isinstance(error, Again) else error
            if held is not None:
                LOG.warning("%s; the token that we have still holds", why)
                return dataclasses.replace(held, until=now + _PAUSE)
            if isinstance(why, NoToken):
                holds = _SULK if patience is None else _MOMENT
                self._failure = _Failure(why, patience, clock() + holds)
            raise


def _too_late(kubeconfig: Kubeconfig) -> Again:
    why = "it has not answered by the deadline"
    return Again(NoToken(_openid(kubeconfig).url, why, kubeconfig.where))


def _openid(kubeconfig: Kubeconfig) -> OpenId:
    assert kubeconfig.openid is not None  # noqa: S101
    return kubeconfig.openid


_USERS: dict[tuple[int, str], _User] = {}
"""By process, since a fork must not use its parent's locks."""


def _name(kubeconfig: Kubeconfig) -> str:
    """Of the user, and of all that the provider is trusted by."""
    parts = [
        *dataclasses.astuple(_openid(kubeconfig)),
        kubeconfig.where,
        kubeconfig.ca,
        kubeconfig.proxy,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
