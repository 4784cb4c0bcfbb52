"""Makes the virtual environment that every make target uses.

It runs on the machine's own Python before anything is installed, so it uses
the standard library only, and no syntax that an old Python could not read.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOME = ROOT / ".venv"
STAMP = HOME / "made-of"
INPUTS = (
    "requirements.txt",
    "test-requirements.txt",
    "setup.cfg",
    "setup.py",
)
OLDEST = (3, 10)


def main() -> int:
    if sys.version_info < OLDEST:
        print(
            f"{sys.executable} is Python {sys.version.split()[0]}; 3.10 or "
            "later is needed: name one with PYTHON=..."
        )
        return 1
    # Two makes at once would install over each other.
    lock = os.open(ROOT, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    found = _found()
    wanted = {"python": _python(), "inputs": _inputs()}
    if found == wanted:
        return 0
    begin = time.monotonic()
    if found.get("python") != wanted["python"]:
        print(
            f"Making the environment .venv with Python "
            f"{sys.version.split()[0]}; this takes about a minute.",
            flush=True,
        )
        _make()
    else:
        print("The requirements changed: bringing .venv up to date.")
        STAMP.unlink()
    _install()
    STAMP.write_text(
        "".join(f"{name} {value}\n" for name, value in wanted.items())
    )
    print(f".venv is complete ({time.monotonic() - begin:.0f} s).")
    return 0


def _found() -> dict[str, str]:
    """What the environment was made of; empty when there is none."""
    try:
        lines = STAMP.read_text().splitlines()
    except OSError:
        return {}
    return dict(line.split(" ", 1) for line in lines)


def _python() -> str:
    """Environments name their Python and their own place by full path."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    return f"{version} {sys.base_prefix} {HOME}"


def _inputs() -> str:
    digest = hashlib.sha256()
    for name in INPUTS:
        digest.update(name.encode() + b"\0")
        digest.update((ROOT / name).read_bytes() + b"\0")
    return digest.hexdigest()


def _make() -> None:
    command = [sys.executable, "-m", "venv", "--clear", str(HOME)]
    if subprocess.run(command).returncode:
        raise SystemExit(
            f"{sys.executable} cannot make virtual environments; Debian and "
            "Ubuntu have that in the package python3-venv."
        )


def _install() -> None:
    command = [str(HOME / "bin" / "python"), "-m", "pip", "install"]
    command += ["--quiet", "--disable-pip-version-check"]
    for name in INPUTS[:2]:
        command += ["-r", name]
    command += ["-e", "."]
    # One from an earlier state of setup.cfg is found before the installed
    # metadata by programs that run in this folder.
    for stale in ROOT.glob("*.egg-info"):
        shutil.rmtree(stale)
    if subprocess.run(command, cwd=ROOT, env=_environ()).returncode:
        raise SystemExit(
            "Installing into .venv failed; see the output of pip above. The "
            "next make retries."
        )


def _environ() -> dict[str, str]:
    """pbr counts commits for the version; without git it needs a given one."""
    environ = dict(os.environ)
    command = ["git", "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        counted = subprocess.run(command, cwd=ROOT, capture_output=True)
    except OSError:
        counted = None
    packed = (ROOT / "PKG-INFO").exists()
    if not packed and (counted is None or counted.returncode):
        environ.setdefault("PBR_VERSION", "0.0.0")
    return environ


if __name__ == "__main__":
    raise SystemExit(main())
