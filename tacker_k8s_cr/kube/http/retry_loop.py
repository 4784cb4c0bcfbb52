"""Retry one request until it succeeds or its limits are reached."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import logging
import random
from typing import NoReturn, Protocol, TypeVar

import tenacity

from tacker_k8s_cr.kube.first_answer import FirstAnswer
from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.http_model import Response
from tacker_k8s_cr.kube.http.http_model import Retryable
from tacker_k8s_cr.model import backoff
from tacker_k8s_cr.model.deadline import Clock
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import Conflict
from tacker_k8s_cr.model.errors import Unavailable
from tacker_k8s_cr.model.errors import Unreachable

LOG = logging.getLogger(__name__)

_MIN_ATTEMPTS = 6
_MIN_ATTEMPTS_SECONDS = 180.0
"""Minimum number of attempts, and seconds after which it no longer applies. If
one of three servers is unavailable, a load balancer may lead several
connections to it, each of which fails only after a time-out."""

Sent = TypeVar("Sent")


class AmbiguousConflict(Conflict):
    """A 409 that an earlier attempt of this request may have caused."""


class Sender(Protocol):
    """The limits and the clock of the client that sends the request."""

    @property
    def deadline(self) -> Deadline: ...

    @property
    def retry_until_deadline(self) -> bool: ...

    @property
    def sleep(self) -> Callable[[float], None]: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def contact(self) -> FirstAnswer | None: ...


class RetryLoop:
    """Retries of one request until it succeeds or its limits are reached."""

    def __init__(
        self, sender: Sender, request: Request, first: Retryable, begun: float
    ):
        self.sender = sender
        self.begun = begun
        self.request = request
        self.first: Retryable | None = first
        self.last = first
        self.late = False
        self.carried_out = first.carried_out
        self.started = sender.clock()
        self.pauses: dict[int, float] = {}

    def run(self, attempt: Callable[[Request], Sent]) -> Sent:
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(Retryable),
            wait=self.pause,
            stop=self.should_stop,
            before_sleep=self.report,
            retry_error_callback=self.give_up,
            sleep=self.sender.sleep,
        )
        try:
            sent: Sent = retrying(self.attempt_once, attempt)
        except Conflict as error:
            if self.carried_out:
                raise AmbiguousConflict(
                    error.ref, error.message, error.code
                ) from error
            raise
        if self.carried_out and isinstance(sent, Response):
            passed = self.sender.clock() - self.begun
            return dataclasses.replace(sent, repeated=max(passed, 0.001))
        return sent

    def attempt_once(self, attempt: Callable[[Request], Sent]) -> Sent:
        if self.first is not None:
            first, self.first = self.first, None
            raise first
        try:
            return attempt(self.request)
        except Retryable as again:
            self.last = again
            self.carried_out = self.carried_out or again.carried_out
            raise
        except Unavailable as error:
            if error.was_sent:
                raise
            # The deadline passed during the pause, or while another thread
            # renewed the credential: the reason is what came before.
            self.last.why.deadline_passed = True
            raise self.last.why from self.last

    def pause(self, state: tenacity.RetryCallState) -> float:
        """Return the delay; the random part is drawn once per attempt."""
        attempt = state.attempt_number
        draw = random.random()  # noqa: S311
        delay = backoff.REQUEST.delay(attempt, draw)
        pause = max(delay, _raised(state).after)
        return self.pauses.setdefault(attempt, pause)

    def should_stop(self, state: tenacity.RetryCallState) -> bool:
        pause = self.pause(state)
        if pause >= self.sender.deadline.remaining:
            self.late = True
            return True
        contact = self.sender.contact
        now = self.sender.clock()
        if (
            contact is not None
            and isinstance(_raised(state).why, Unreachable)
            and contact.is_given_up(state.attempt_number, now + pause)
        ):
            return True
        waited = now - self.started + pause
        few = (
            state.attempt_number < _MIN_ATTEMPTS
            and waited <= _MIN_ATTEMPTS_SECONDS
        )
        if self.sender.retry_until_deadline or few:
            return False
        return waited > _raised(state).patience

    def give_up(self, state: tenacity.RetryCallState) -> NoReturn:
        again = _raised(state)
        again.why.deadline_passed = self.late
        raise again.why from again.__cause__

    def report(self, state: tenacity.RetryCallState) -> None:
        if state.attempt_number == 1:
            why = _raised(state).why
            LOG.info("%s: %s; trying again", self.request, why)
            if self.sender.contact and isinstance(why, Unreachable):
                self.sender.contact.notify(why.sentence())


def _raised(state: tenacity.RetryCallState) -> Retryable:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, Retryable)  # noqa: S101
    return error
