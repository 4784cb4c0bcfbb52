"""Whom we are measured against: kubectl, Helm, client-go without limits."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import time

from tools.plane.errors import PlaneError
from tools.plane.kubectl import Kubectl


@dataclasses.dataclass(frozen=True)
class KubectlApply:
    """``kubectl apply --server-side`` of one file, a process as a whole."""

    kubectl: Kubectl
    objects: pathlib.Path

    def apply(self, namespace: str) -> float:
        begin = time.perf_counter()
        self.kubectl(
            "apply",
            "--server-side",
            f"--namespace={namespace}",
            f"--filename={self.objects}",
        )
        return time.perf_counter() - begin


@dataclasses.dataclass(frozen=True)
class Helm:
    """``helm install`` and ``uninstall`` of a chart, processes as a whole.

    Both wait, as ours does.
    """

    program: pathlib.Path
    kubeconfig: pathlib.Path
    chart: pathlib.Path

    def apply(self, namespace: str) -> float:
        return self._measured("install", namespace, str(self.chart))

    def delete(self, namespace: str) -> float:
        return self._measured("uninstall", namespace)

    def _measured(self, verb: str, namespace: str, *rest: str) -> float:
        begin = time.perf_counter()
        done = subprocess.run(
            [
                str(self.program),
                verb,
                "bench",
                *rest,
                f"--namespace={namespace}",
                "--wait",
                "--timeout=5m",
            ],
            env=self._environ(),
            capture_output=True,
            text=True,
        )
        seconds = time.perf_counter() - begin
        if done.returncode:
            raise PlaneError(f"helm {verb}: {done.stderr.strip()}")
        return seconds

    def _environ(self) -> dict[str, str]:
        """Nothing of what a person has set for Helm counts."""
        home = self.chart.parent / "helm"
        kept = {k: v for k, v in os.environ.items() if k[:5] != "HELM_"}
        return {
            **kept,
            "KUBECONFIG": str(self.kubeconfig),
            "HELM_CACHE_HOME": str(home),
            "HELM_CONFIG_HOME": str(home),
            "HELM_DATA_HOME": str(home),
        }


@dataclasses.dataclass(frozen=True)
class GoClient:
    """The program in ``client``, which reports how long it took.

    So the start of its process, and reading the file, do not count.
    """

    program: pathlib.Path
    kubeconfig: pathlib.Path
    objects: pathlib.Path
    workers: int

    def apply(self, namespace: str) -> float:
        return self._measured("apply", namespace, str(self.objects))

    def delete(self, namespace: str) -> float:
        return self._measured("delete", namespace)

    def _measured(self, verb: str, namespace: str, *rest: str) -> float:
        done = subprocess.run(
            [
                str(self.program),
                verb,
                f"--namespace={namespace}",
                f"--workers={self.workers}",
                *rest,
            ],
            env=self._environ(),
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise PlaneError(f"{verb}: {done.stderr.strip()}")
        return float(json.loads(done.stdout)["seconds"])

    @contextlib.contextmanager
    def watch(
        self, resource: str, namespace: str
    ) -> Iterator[subprocess.Popen[str]]:
        """A watch by another process; its lines are ``name nanoseconds``."""
        process = subprocess.Popen(
            [
                str(self.program),
                "watch",
                f"--namespace={namespace}",
                f"--resource={resource}",
            ],
            env=self._environ(),
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None  # noqa: S101  (asked for)
            if process.stdout.readline().strip() != "watching":
                raise PlaneError(f"{resource} cannot be watched")
            yield process
        finally:
            process.terminate()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def _environ(self) -> dict[str, str]:
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
