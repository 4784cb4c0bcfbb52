"""A test's output and files are searched for secrets while it runs.

Python calls an audit hook for each program that is started, and for each file
that is opened; there is no other way to see what is written for a moment.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import logging
import os
import pathlib
import sys
import traceback
from types import FrameType
from typing import Any

from tests.secrecy import canary_secrets

OURS = ("tacker_k8s_cr", "mgmt_drivers")

LOGGERS = (*OURS, "cliff", "kubernetes", "requests", "stevedore", "urllib3")
"""What is logged at DEBUG: ours, and the libraries that we speak through."""

_STARTS = {
    "subprocess.Popen": 1,
    "os.exec": 1,
    "os.posix_spawn": 1,
    "os.system": 0,
}
"""By event of Python's, which of its arguments are those of a program."""

_LEAVES = {"os.remove": 0, "os.rename": 0, "shutil.rmtree": 0}


class SearchedLogs(logging.Handler):
    """Keeps what the records would look like, errors' causes and all."""

    def __init__(self, watch: SecretSearch):
        super().__init__()
        self._watch = watch

    def emit(self, record: logging.LogRecord) -> None:
        self._watch.search(f"the log of {record.name}", self.format(record))


class SecretSearch:
    """All that was found since it was last asked."""

    def __init__(self) -> None:
        self.logs = SearchedLogs(self)
        self._leaks: list[str] = []
        self._written: set[str] = set()
        self._on = False

    def start(self) -> None:
        logging.getLogger().addHandler(self.logs)
        for name in LOGGERS:
            logging.getLogger(name).setLevel(logging.DEBUG)
        self._on = True
        sys.addaudithook(self._hear)

    def stop(self) -> None:
        """A hook cannot be taken off; it hears nothing any more."""
        self._on = False
        logging.getLogger().removeHandler(self.logs)

    def search(self, where: str, text: str) -> None:
        """Search a text, and remember where a secret was found."""
        self._leaks += [
            f"{where}: {leak}" for leak in canary_secrets.find_secrets(text)
        ]

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Search what leaves this block: its text, its data, its causes."""
        try:
            yield
        except Exception as error:
            self.search("an error", error_texts(error))
            raise

    def findings(self) -> list[str]:
        """What was found, once each, and what the files hold by now."""
        for path in sorted(self._written):
            self._read(path)
        self._written.clear()
        leaks = list(dict.fromkeys(self._leaks))
        self._leaks.clear()
        return leaks

    # -- Python's audit events -----------------------------------------------

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._on:
            return
        if event == "open":
            self._opened(*args)
        elif event in _STARTS:
            self.search(
                "the arguments of a program", str(args[_STARTS[event]])
            )
        elif event in _LEAVES and self._written:
            self._leaving(str(args[0]))

    def _opened(self, path: Any, mode: Any, flags: Any) -> None:
        if (
            flags & (os.O_WRONLY | os.O_RDWR)
            and isinstance(path, str | bytes | os.PathLike)
            and _is_opened_by_us(sys._getframe(2))
        ):
            self._written.add(os.path.abspath(os.fsdecode(path)))

    def _leaving(self, path: str) -> None:
        whole = os.path.abspath(path)
        for written in list(self._written):
            # A removal of a folder names its files without their folder.
            if written.startswith(whole) or written.endswith(f"/{path}"):
                self._read(written)

    def _read(self, path: str) -> None:
        file = pathlib.Path(path)
        if file.is_file():
            text = file.read_bytes().decode(errors="replace")
            self.search(f"the file {file.name}", text)


def error_texts(error: BaseException) -> str:
    """All that a handler may print of an error and of its causes."""
    trace = "".join(traceback.format_exception(error))
    return "\n".join([trace, repr(error), repr(vars(error))])


def _is_opened_by_us(frame: FrameType | None) -> bool:
    """Whether the project's code opens the file, directly or through others.

    A test that writes a file has no frame of the project below it.
    """
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] in OURS:
            return True
        frame = frame.f_back
    return False


def process_arguments() -> dict[str, str]:
    """The arguments of what runs below this process, by its number."""
    parents, said = {}, {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "stat").read_text().rpartition(")")[2].split()
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            # It has ended.
            continue
        parents[folder.name] = status[1]
        said[folder.name] = b" ".join(words).decode(errors="replace")
    below = {str(os.getpid())}
    while more := {p for p, up in parents.items() if up in below} - below:
        below |= more
    return {number: said[number] for number in below if number in said}
