"""Handle SIGTERM like SIGINT."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import signal
import threading
import types


@contextlib.contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM too, within the context.

    The operation then releases the lock of the instance before it ends.
    """

    def interrupt(number: int, _frame: types.FrameType | None) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    # Only the main thread may set handlers; signals arrive there too.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
