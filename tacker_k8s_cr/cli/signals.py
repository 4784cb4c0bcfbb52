"""SIGTERM as ctrl-C: whoever asks us to end, we end in the same way."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import signal
import threading
import types


@contextlib.contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Within it, SIGTERM raises KeyboardInterrupt, as SIGINT does.

    The lock of an instance is given back on the way out.
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
