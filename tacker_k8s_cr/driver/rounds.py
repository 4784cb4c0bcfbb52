"""A round of Tacker over all its instances, one after the other.

One VIM that does not answer would take the time of all others, as often as
there are instances on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
from typing import Any

from tacker_k8s_cr import errors

SECONDS = 10.0
"""For looking at one instance, which nobody waits for."""

_AWAY = (errors.Unreachable, errors.NoToken)


class Round:
    """Remembers which VIMs are away until an instance comes again.

    Tacker says neither when a round begins nor when it ends.
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._away: dict[str, errors.Error] = {}

    @contextlib.contextmanager
    def looking(
        self, instance: str, access: Mapping[str, Any]
    ) -> Iterator[None]:
        """Look at an instance, unless its VIM is known to be away.

        Raises what was raised when it was asked.
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
