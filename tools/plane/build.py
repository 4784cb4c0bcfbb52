"""Builds what is missing: one line of modules beside the other."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent import futures
import dataclasses
import itertools
import json
import os
import pathlib
import shlex
import signal
import subprocess
import threading
import time

from tools.plane import golang
from tools.plane import lock
from tools.plane import module_files
from tools.plane import modules
from tools.plane import signals
from tools.plane.binaries import ENVIRON
from tools.plane.binaries import Binary
from tools.plane.binaries import Store
from tools.plane.errors import PlaneError

PrintLine = Callable[[str], object]

MEMORY_OF_ONE = 3 * 2**30
"""Bytes; linking kube-apiserver takes most of it."""


def build(
    store: Store, wanted: Sequence[Binary], print_line: PrintLine
) -> None:
    """Build those that do not exist yet, and copy the modules' YAML."""
    store.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not store.missing(wanted) and not module_files.missing(store.manifests):
        return
    with (
        signals.raise_interrupts(),
        lock.hold(store.folder / "lock", print_line),
    ):
        # The previous holder of the lock may have built it all.
        missing = store.missing(wanted)
        needed = {binary.module for binary in missing}
        needed.update(module_files.missing(store.manifests))
        if not needed:
            return
        go = golang.find(modules.go_needed(needed), print_line)
        module_files.copy(go, store.manifests, print_line)
        if missing:
            _Build(store, go, _times(store.times), print_line).all(missing)


def lanes(wanted: Iterable[Binary]) -> tuple[tuple[Binary, ...], ...]:
    """What may be built side by side.

    Binaries of one module share most of their packages, and two builds at
    the same time would each compile them.
    """
    ordered = sorted(wanted, key=lambda binary: binary.module)
    grouped = itertools.groupby(ordered, key=lambda binary: binary.module)
    found = [tuple(group) for _, group in grouped]
    return tuple(
        sorted(found, key=lambda lane: -sum(one.estimate for one in lane))
    )


def width(cores: int, memory: int) -> int:
    """How many builds at once do not get into each other's way."""
    return max(1, min(cores, memory // MEMORY_OF_ONE, len(modules.NAMES)))


def forecast(binary: Binary, times: Mapping[str, float]) -> str:
    """The expected duration, if it is known from earlier builds."""
    if binary.name in times:
        return f"{times[binary.name]:.0f} s last time"
    return f"about {binary.estimate:.0f} s when nothing is cached"


@dataclasses.dataclass
class _Build:
    store: Store
    go: pathlib.Path
    times: dict[str, float]
    print_line: PrintLine
    ending: threading.Event = dataclasses.field(
        default_factory=threading.Event
    )

    def all(self, missing: Sequence[Binary]) -> None:
        begin = time.monotonic()
        total = sum(
            self.times.get(binary.name, binary.estimate) for binary in missing
        )
        self.print_line(
            f"building {len(missing)} binaries with {self.go}, "
            f"about {total:.0f} s of work, into {self.store.folder}"
        )
        cores = len(os.sched_getaffinity(0))
        with futures.ThreadPoolExecutor(width(cores, _memory())) as pool:
            lines = [pool.submit(self._lane, lane) for lane in lanes(missing)]
            try:
                for line in futures.as_completed(lines):
                    line.result()
            except BaseException:
                self.ending.set()
                raise
        self.print_line(f"built in {time.monotonic() - begin:.0f} s")

    def _lane(self, lane: Sequence[Binary]) -> None:
        for binary in lane:
            if not self.ending.is_set():
                self._one(binary)

    def _one(self, binary: Binary) -> None:
        self.print_line(f"  {binary.name}: {forecast(binary, self.times)}")
        begin = time.monotonic()
        # Under its own name only when it is whole: a build that was
        # interrupted begins with this binary again and keeps the others.
        draft = self.store.folder / f".{binary.name}"
        command = [str(self.go), "build", "-ldflags", binary.stamp]
        command += ["-o", str(draft), binary.package]
        log = self.store.folder / f"{binary.name}.log"
        with open(log, "wb") as output:
            process = subprocess.Popen(
                command,
                cwd=modules.FOLDER / binary.module,
                env={**os.environ, **ENVIRON},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            status = self._ended(process)
        if self.ending.is_set():
            return
        if status:
            raise PlaneError(
                f"{binary.name}: {shlex.join(command)} in "
                f"{modules.FOLDER / binary.module} failed:\n"
                + "\n".join(log.read_text(errors="replace").split("\n")[-21:])
            )
        draft.replace(self.store.path(binary.name))
        log.unlink()
        self.times[binary.name] = round(time.monotonic() - begin, 1)
        self._write_times()
        self.print_line(
            f"  {binary.name}: built in {self.times[binary.name]:.0f} s"
        )

    def _ended(self, process: subprocess.Popen[bytes]) -> int:
        while True:
            try:
                return process.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                if self.ending.is_set():
                    # The compilers that go started are in its session.
                    os.killpg(process.pid, signal.SIGTERM)

    def _write_times(self) -> None:
        draft = self.store.times.with_suffix(f".{threading.get_ident()}")
        draft.write_text(json.dumps(dict(self.times), indent=1))
        draft.replace(self.store.times)


def _times(path: pathlib.Path) -> dict[str, float]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return {name: float(seconds) for name, seconds in found.items()}


def _memory() -> int:
    """Bytes that new processes may take."""
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return MEMORY_OF_ONE
