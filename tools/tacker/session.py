"""Requests to Tacker, and checks of the expected answers."""

from __future__ import annotations

import time
from typing import Any

import requests

from tools.tacker.errors import TackerError

PAUSE = 0.1
"""Seconds between two polls of an operation."""

SYNCHRONIZING = "task_state DB_SYNCHRONIZING"
"""What the v1 API answers while it synchronizes an instance."""

BUSY = 15.0
"""Seconds to try again while Tacker still holds its lock on an instance: it
reports the end of an operation before it releases the lock, v1 before all is
written.
"""


class RequestRefused(TackerError):
    """Tacker answered with another status than the wanted one."""

    def __init__(self, method: str, path: str, answer: requests.Response):
        super().__init__(
            f"{method} {path}: {answer.status_code} {answer.text[:2000]}"
        )
        self.status = answer.status_code
        self.text = answer.text


class Session:
    """Requests to one Tacker."""

    def __init__(self, url: str, pause: float = PAUSE):
        self.url = url
        self.pause = pause
        self.session = requests.Session()
        # A proxy for the world has no place between two local processes.
        self.session.trust_env = False

    def close(self) -> None:
        self.session.close()

    def request(
        self, method: str, path: str, body: Any = None, **more: Any
    ) -> requests.Response:
        """Any request; whatever the answer."""
        if body is not None:
            more["json"] = body
        return self.session.request(
            method, self.url + path, timeout=60, **more
        )

    def request_expecting(
        self, status: int, method: str, path: str, body: Any = None, **m: Any
    ) -> requests.Response:
        """Any request; Refused unless the answer has this status."""
        answer = self.request(method, path, body, **m)
        if answer.status_code != status:
            raise RequestRefused(method, path, answer)
        return answer

    def unless_busy(
        self, status: int, method: str, path: str, body: Any = None
    ) -> requests.Response:
        """A request that Tacker refuses as long as it holds its lock.

        The v1 API refuses it with 500 during a synchronization, and names the
        state of the instance.
        """
        limit = time.monotonic() + BUSY
        while True:
            try:
                return self.request_expecting(status, method, path, body)
            except RequestRefused as refused:
                is_busy = (
                    refused.status == 409 or SYNCHRONIZING in refused.text
                )
                if not is_busy or time.monotonic() > limit:
                    raise
            time.sleep(self.pause)
