"""Send one request, and raise the error that its answer means."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import json
import threading
import time
from typing import Any, Protocol

import urllib3
from urllib3 import exceptions

from tacker_k8s_cr.kube.first_answer import FirstAnswer
from tacker_k8s_cr.kube.http import connection_pool
from tacker_k8s_cr.kube.http import transport_errors
from tacker_k8s_cr.kube.http.deadline_reader import ReadTimeout
from tacker_k8s_cr.kube.http.fast_exchange import exchange
from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.http_model import Response
from tacker_k8s_cr.kube.http.http_model import Retryable
from tacker_k8s_cr.kube.http.read_body import FullResponse
from tacker_k8s_cr.kube.http.response_rules import error_for
from tacker_k8s_cr.kube.http.retry_loop import RetryLoop
from tacker_k8s_cr.kube.http.retry_loop import Sent
from tacker_k8s_cr.kube.http.session import Session
from tacker_k8s_cr.model.deadline import Clock
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import Unauthenticated
from tacker_k8s_cr.model.errors import Unavailable
from tacker_k8s_cr.model.errors import Unreachable

_CONNECT = 10.0
"""Seconds for a connection with its TLS handshake."""

_NO_RETRIES = urllib3.Retry(False, redirect=False)
"""What urllib3 creates from ``False`` for each request."""

_READ = 65.0
"""Seconds of silence; the server itself ends a request after 60."""

_FIRST_READ, _FIRST_WRITE = 15.0, 30.0
"""Seconds of silence for the first attempt. A server that cannot reach etcd
answers nothing, and another one, behind the same balancer, does. A write may
have to wait for admission webhooks, which have ten seconds each by default."""

Received = urllib3.BaseHTTPResponse | FullResponse


class Transport(Protocol):
    """The sessions of requests; see ``connection``."""

    def access(self, deadline: Deadline) -> Session: ...

    def refresh(
        self, refused: Session, deadline: Deadline
    ) -> Session | None: ...

    def reconnect(self) -> None: ...


class Counter:
    """The number of requests that all threads have sent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.total = 0

    def add(self) -> None:
        with self._lock:
            self.total += 1


@dataclasses.dataclass(frozen=True)
class Client:
    """Sends requests to one server, none of them after the deadline.

    :param retry_until_deadline: retry until the deadline, however long the
        server is unavailable; for streams, whose operation has its own limit.
    :param contact: limits that apply until the server has answered once.
    """

    transport: Transport
    server: str
    counter: Counter
    deadline: Deadline
    retry_until_deadline: bool = False
    sleep: Callable[[float], None] = time.sleep
    clock: Clock = time.monotonic
    contact: FirstAnswer | None = None

    def send(self, request: Request) -> Response:
        """Return an answer below 300; raise the error that others mean."""
        return self._send_with_retries(
            request, self._send_once, self._first_attempt
        )

    def stream(
        self, request: Request, lasts: float
    ) -> urllib3.BaseHTTPResponse:
        """Return an answer that the caller reads as a stream.

        :param lasts: seconds after which the stream ends.
        """

        def opened(request: Request) -> urllib3.BaseHTTPResponse:
            response = self._response(request, lasts, preload=False)
            assert not isinstance(response, FullResponse)  # noqa: S101  (asked for)
            return response

        return self._send_with_retries(request, opened)

    def _send_with_retries(
        self,
        request: Request,
        attempt: Callable[[Request], Sent],
        first: Callable[[Request], Sent] | None = None,
    ) -> Sent:
        begun = self.clock()
        # Nearly all succeed at once and need no retries.
        try:
            return (first or attempt)(request)
        except Retryable as again:
            return RetryLoop(self, request, again, begun).run(attempt)

    def _first_attempt(self, request: Request) -> Response:
        reads = request.method == "GET"
        return self._send_once(request, _FIRST_READ if reads else _FIRST_WRITE)

    def _send_once(self, request: Request, silence: float = _READ) -> Response:
        response = self._response(request, silence, preload=True)
        body = _json(response.data)
        if body is None:
            why = "the response is not from a Kubernetes API server"
            raise Unreachable(self.server, why)
        return Response(response.status, body)

    def _response(
        self, request: Request, silence: float, preload: bool
    ) -> Received:
        access = self.transport.access(self.deadline)
        begun = time.monotonic()
        response = self._exchange(request, access, silence, preload)
        if response.status == 401:
            renewed = self.transport.refresh(access, self.deadline)
            if renewed is not None:
                response.drain_conn()
                response = self._exchange(request, renewed, silence, preload)
        if response.status < 300:
            return response
        error = error_for(request, self._read_refusal(response), self.server)
        if isinstance(error, Retryable) and response.status >= 500:
            connection_pool.reconnect(access.pool, begun)
        if isinstance(error, Unauthenticated):
            error = access.refused(error)
        raise error

    def _read_refusal(self, response: Received) -> Response:
        try:
            data = response.data
        except (exceptions.HTTPError, OSError) as error:
            raise transport_errors.to_error(self.server, error) from error
        response.release_conn()
        after = _seconds(response.headers.get("Retry-After"))
        body = _json(data)
        if body is None:
            # A page of a proxy may contain anything: only one line is shown.
            text = data[:200].decode(errors="replace").strip()
            plain = text and "<" not in text and "\n" not in text
            body = {"message": text if plain else "no message of Kubernetes"}
        return Response(response.status, body, after)

    def _exchange(
        self, request: Request, access: Session, silence: float, preload: bool
    ) -> Received:
        left = self.deadline.remaining
        if not left:
            raise Unavailable.not_sent(str(request))
        whole = self.deadline if preload else self.deadline.at_most(silence)
        headers = {**access.headers, "Accept": request.accept}
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        self.counter.add()
        url = access.base + request.path
        asked = (request.method, url, request.body, headers)
        limit = ReadTimeout(min(silence, left), whole)
        connect = min(_CONNECT, left)
        if self.contact is not None:
            # At least the time that a server needs to accept a connection.
            connect = min(
                connect, max(1.0, self.contact.remaining(self.clock()))
            )
        begun = time.monotonic()
        try:
            quick = exchange(access.pool, *asked, limit) if preload else None
            response = quick or access.pool.urlopen(
                *asked,
                retries=_NO_RETRIES,
                redirect=False,
                assert_same_host=False,
                timeout=urllib3.Timeout(connect=connect, read=limit),
                preload_content=preload,
            )
        except (exceptions.HTTPError, OSError) as error:
            # Other idle connections may lead to the same server.
            connection_pool.reconnect(access.pool, begun)
            raise transport_errors.to_error(self.server, error) from error
        if self.contact is not None:
            self.contact.answered = True
        return response


def _seconds(retry_after: str | None) -> float:
    """Read Retry-After in seconds; a date, which proxies send, means 1 s."""
    try:
        return min(float(retry_after or 0), 60.0)
    except ValueError:
        return 1.0


def _json(data: bytes) -> Any:
    """Return the object in a JSON text; None for anything else."""
    try:
        body = json.loads(data) if data else {}
    except ValueError:
        return None
    return body if isinstance(body, dict) else None
