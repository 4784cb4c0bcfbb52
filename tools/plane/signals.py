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
def raise_interrupts() -> Iterator[None]:
    """Within it, a signal that asks us to end becomes KeyboardInterrupt."""

    def interrupt(number: int, _frame: types.FrameType | None) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    with _handle(interrupt):
        yield


@contextlib.contextmanager
def defer() -> Iterator[None]:
    """Within it, such a signal waits; it takes effect at the end."""
    received: list[int] = []

    def note(number: int, _frame: types.FrameType | None) -> None:
        received.append(number)

    with _handle(note):
        yield
    if received:
        raise KeyboardInterrupt(signal.Signals(received[0]).name)


@contextlib.contextmanager
def _handle(handler: _Handler) -> Iterator[None]:
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
