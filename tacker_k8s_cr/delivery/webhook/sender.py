"""Post a message until it is accepted or the deadline passes."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import logging
import random
import ssl
import time
from typing import NoReturn
from urllib import parse

import requests
import tenacity

from tacker_k8s_cr.delivery.webhook import responses
from tacker_k8s_cr.delivery.webhook.receiver import Receiver
from tacker_k8s_cr.delivery.webhook.receiver import message_id
from tacker_k8s_cr.delivery.webhook.receiver import parse_url
from tacker_k8s_cr.delivery.webhook.receiver import signature
from tacker_k8s_cr.model import backoff
from tacker_k8s_cr.model import log_filters
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import DeliveryFailed
from tacker_k8s_cr.model.errors import RequestInvalid

LOG = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0


@dataclasses.dataclass(frozen=True)
class Accepted:
    """A message that the receiver accepted: its id, and the attempts."""

    id: str
    status: int
    attempts: int


def post(
    receiver: Receiver,
    body: bytes,
    deadline: Deadline,
    *,
    now: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> Accepted:
    """Post a JSON text until it is accepted or the deadline passes.

    Retries after errors of the connection, time-outs, 408, 429 and 5xx;
    other refusals are final. Raises DeliveryFailed, whose text contains
    nothing of the request.

    :param now: seconds since 1970, for the timestamp and Retry-After.
    """
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(_Again),
        wait=_pause,
        stop=lambda state: state.upcoming_sleep >= deadline.remaining,
        before_sleep=_log_pause,
        sleep=sleep,
        reraise=True,
    )
    attempts = 0
    with _session(receiver) as session:
        try:
            for attempt in retrying:
                attempts = attempt.retry_state.attempt_number
                with attempt:
                    status = _post_once(session, receiver, body, deadline, now)
        except _Again as error:
            times = "once" if attempts == 1 else f"{attempts} times"
            raise DeliveryFailed(
                receiver.shown, error.status, f"{error.why} (tried {times})"
            ) from None
    return Accepted(message_id(body), status, attempts)


class _Again(Exception):
    """A retryable failure: status (0 without answer), and Retry-After."""

    def __init__(self, shown: str, status: int, why: str, after: float = 0.0):
        self.shown = shown
        self.status = status
        self.why = why
        self.after = after
        super().__init__(status)


def _pause(state: tenacity.RetryCallState) -> float:
    error = state.outcome and state.outcome.exception()
    asked = error.after if isinstance(error, _Again) else 0.0
    draw = random.random()  # noqa: S311
    return max(asked, backoff.WEBHOOK.delay(state.attempt_number, draw))


def _log_pause(state: tenacity.RetryCallState) -> None:
    error = state.outcome and state.outcome.exception()
    if isinstance(error, _Again):
        status = f"answered {error.status}: " if error.status else ""
        LOG.warning(
            "%s: %s%s; trying again in %.1f s",
            error.shown,
            status,
            error.why,
            state.upcoming_sleep,
        )


def _session(receiver: Receiver) -> requests.Session:
    """Return a session that reads only the proxies from the environment.

    With ``trust_env`` requests would also take a password from a .netrc
    file, and certificates from variables meant for other programs.
    """
    session = requests.Session()
    session.trust_env = False
    session.proxies = requests.utils.get_environ_proxies(receiver.url)
    if receiver.user:
        session.auth = (receiver.user, receiver.password)
    if receiver.ca_file:
        try:
            ssl.create_default_context(cafile=receiver.ca_file)
        except OSError as error:
            raise RequestInvalid(
                "webhook: no certificates can be read from the file "
                f"{receiver.ca_file}: {error.strerror or error.args[-1]}"
            ) from None
        session.verify = receiver.ca_file
    if receiver.insecure:
        LOG.warning("%s: its certificate is not verified", receiver.shown)
        session.verify = False
    return session


def _headers(
    receiver: Receiver, body: bytes, timestamp: int
) -> dict[str, str]:
    id_ = message_id(body)
    headers = {
        "content-type": "application/json",
        "user-agent": "tacker-k8s-cr",
        "webhook-id": id_,
        "webhook-timestamp": str(timestamp),
    }
    if receiver.secrets:
        headers["webhook-signature"] = " ".join(
            signature(secret, id_, timestamp, body)
            for secret in receiver.secrets
        )
    if receiver.token:
        headers["authorization"] = f"Bearer {receiver.token}"
    return headers


def _post_once(
    session: requests.Session,
    receiver: Receiver,
    body: bytes,
    deadline: Deadline,
    now: Callable[[], float],
) -> int:
    """Return the status of the response to an accepted message."""
    left = deadline.remaining
    if not left:
        raise _Again(receiver.shown, 0, "no time was left to send it")
    with _translated(receiver), log_filters.suppress_urllib3_logs():
        answer = session.post(
            receiver.url,
            data=body,
            headers=_headers(receiver, body, int(now())),
            timeout=(min(left, CONNECT_SECONDS), min(left, READ_SECONDS)),
            allow_redirects=False,
            stream=True,
        )
    with answer:
        if not 200 <= answer.status_code < 300:
            _refuse(receiver, body, answer, now())
        return answer.status_code


def _refuse(
    receiver: Receiver, body: bytes, answer: requests.Response, now: float
) -> NoReturn:
    status = answer.status_code
    if 300 <= status < 400:
        where = responses.origin(answer.headers.get("location", ""))
        raise DeliveryFailed(
            receiver.shown, status, f"it points to {where}, not followed"
        )
    sent = (
        body.decode(),
        receiver.token,
        receiver.password,
        *receiver.secrets,
        parse.unquote(parse_url(receiver.url).password or ""),
    )
    line = (
        responses.first_printable_line(answer)
        or answer.reason
        or "no explanation"
    )
    why = responses.redact(line, sent)
    if status in (408, 429) or status >= 500:
        after = responses.retry_after(
            answer.headers.get("retry-after", ""), now
        )
        raise _Again(receiver.shown, status, why, after)
    raise DeliveryFailed(receiver.shown, status, why)


@contextlib.contextmanager
def _translated(receiver: Receiver) -> Iterator[None]:
    """Translate connection errors, whose texts may contain the URL."""
    try:
        yield
    except requests.Timeout:
        raise _Again(receiver.shown, 0, "no answer in time") from None
    except requests.ConnectionError as error:
        cause = _cause(error)
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise DeliveryFailed(
                receiver.shown,
                0,
                f"its certificate is not trusted: {cause.verify_message}",
            ) from None
        why = getattr(cause, "strerror", None) or type(cause).__name__
        raise _Again(receiver.shown, 0, f"no connection: {why}") from None
    except requests.RequestException as error:
        why = f"cannot be sent: {type(error).__name__}"
        raise DeliveryFailed(receiver.shown, 0, why) from None


def _cause(error: BaseException) -> BaseException:
    """Return the innermost error; requests and urllib3 nest it differently."""
    while True:
        inner = [
            each
            for each in (
                error.__cause__,
                getattr(error, "reason", None),
                *error.args,
            )
            if isinstance(each, BaseException)
        ]
        if not inner:
            return error
        error = inner[0]
