"""Published Go modules, of which tests use other files than programs."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

from tools.plane import golang
from tools.plane import modules
from tools.plane.binaries import ENVIRON


def folder(requiring: str, path: str) -> pathlib.Path:
    """Return the folder of a module; Go fetches it once.

    :param requiring: the folder in ``tools/plane/modules`` whose go.mod
        gives the version.
    """
    go = golang.find(modules.go_needed([requiring]), print)
    for command in (["mod", "download", path], ["list", "-m", "-json", path]):
        done = subprocess.run(
            [str(go), *command],
            cwd=modules.FOLDER / requiring,
            env={**os.environ, **ENVIRON},
            check=True,
            capture_output=True,
            text=True,
        )
    return pathlib.Path(json.loads(done.stdout)["Dir"])
