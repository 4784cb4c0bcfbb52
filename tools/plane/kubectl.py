"""kubectl, as the plane itself uses it."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import json
import pathlib
import subprocess
from typing import Any

from tools.plane.errors import PlaneError

Object = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Kubectl:
    """A kubectl bound to one cluster."""

    program: pathlib.Path
    kubeconfig: pathlib.Path
    environ: Mapping[str, str]

    def run(
        self, *arguments: str, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run it, whatever comes of it."""
        return subprocess.run(
            [str(self.program), f"--kubeconfig={self.kubeconfig}", *arguments],
            input=stdin,
            text=True,
            capture_output=True,
            env=dict(self.environ),
        )

    def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        """What it prints; PlaneError with its own words when it fails."""
        done = self.run(*arguments, stdin=stdin)
        if done.returncode:
            shown = " ".join(arguments)[:200]
            raise PlaneError(f"kubectl {shown}: {done.stderr.strip()}")
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--output=json"))

    def apply(self, objects: Iterable[Object]) -> None:
        """Server-side apply; changes by other field managers are reverted."""
        items = list(objects)
        if items:
            self(
                "apply",
                "--server-side",
                "--force-conflicts",
                "--field-manager=plane",
                "--filename=-",
                stdin=json.dumps(
                    {"apiVersion": "v1", "kind": "List", "items": items}
                ),
            )

    def wait_established(self, definitions: Iterable[Object]) -> None:
        """Wait until the server serves these CustomResourceDefinitions."""
        names = [f"crd/{one['metadata']['name']}" for one in definitions]
        if names:
            self(
                "wait", "--for=condition=Established", "--timeout=60s", *names
            )
