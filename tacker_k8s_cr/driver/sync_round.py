"""One round of Tacker's synchronization over all instances.

A VIM that does not answer would delay all others, once for each of its
instances.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
from typing import Any

from tacker_k8s_cr.model import errors

SECONDS = 10.0
"""To read one instance; no user waits for it."""

_AWAY = (errors.Unreachable, errors.TokenRequestFailed)


class SyncRound:
    """A round; unavailable VIMs are skipped until an instance is repeated.

    Tacker does not report when a round begins or ends.
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._away: dict[str, errors.Error] = {}

    @contextlib.contextmanager
    def inspect(
        self, instance: str, access: Mapping[str, Any]
    ) -> Iterator[None]:
        """Read an instance, unless its VIM is known to be unavailable.

        Raises the error of the first read of that VIM.
        """
        if instance in self._seen:
            self._seen.clear()
            self._away.clear()
        self._seen.add(instance)
        vim = str(access.get("auth_url"))
        if vim in self._away:
            # It would grow by the frames of every instance.
            raise self._away[vim].with_traceback(None)
        try:
            yield
        except _AWAY as error:
            self._away[vim] = error
            raise
