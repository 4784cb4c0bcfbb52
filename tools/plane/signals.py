"""Ctrl-C and its kin, so that they meet no half-recorded process."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import signal
import threading
import types

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_Handler = Callable[[int, "types.FrameType | None"], None]


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Within it, a signal that asks us to end becomes KeyboardInterrupt."""

    def interrupt(number: int, _frame: types.FrameType | None) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    with _handled(interrupt):
        yield


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Within it, such a signal waits; it takes effect at the end."""
    came: list[int] = []

    def note(number: int, _frame: types.FrameType | None) -> None:
        came.append(number)

    with _handled(note):
        yield
    if came:
        raise KeyboardInterrupt(signal.Signals(came[0]).name)


@contextlib.contextmanager
def _handled(handler: _Handler) -> Iterator[None]:
    # Python runs signal handlers in the main thread and lets no other set
    # them; in another thread nothing arrives that would have to be held.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in ENDING}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
