"""A credential from a command that a kubeconfig names.

The Kubernetes client runs such a command too, for as long as that likes.
"""

from __future__ import annotations

from collections.abc import Mapping
import json
import math
import os
import subprocess
import sys
from typing import Any

from tacker_k8s_cr.cluster import masking
from tacker_k8s_cr.kubeconfig import Kubeconfig

SECONDS = 60.0
"""For a command that nobody sits before; who does may have to log in."""


class PluginFailed(Exception):
    """Says why; never what the command printed for us."""


class PluginSilent(PluginFailed):
    """It did not end in time, and was ended."""


def status(kubeconfig: Kubeconfig, seconds: float) -> Mapping[str, Any]:
    """The status of the ExecCredential that the command prints.

    :param seconds: after which the command is ended.
    """
    plugin = kubeconfig.exec_plugin or {}
    for key in ("command", "apiVersion"):
        if not plugin.get(key):
            raise PluginFailed(f"the kubeconfig lacks its {key}")
    version = plugin["apiVersion"]
    watched = sys.stdout is not None and sys.stdout.isatty()
    spec: dict[str, Any] = {"interactive": watched}
    if plugin.get("provideClusterInfo"):
        spec["cluster"] = _told(kubeconfig)
    asked = {"apiVersion": version, "kind": "ExecCredential", "spec": spec}
    limit = seconds if watched else min(seconds, SECONDS)
    try:
        done = subprocess.run(  # noqa: S603  it is the user's kubeconfig
            [plugin["command"], *(plugin.get("args") or ())],
            stdin=None if watched else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if watched else subprocess.PIPE,
            env={
                **os.environ,
                **_given(plugin),
                "KUBERNETES_EXEC_INFO": json.dumps(asked),
            },
            text=True,
            timeout=None if limit == math.inf else limit,
        )
    except subprocess.TimeoutExpired:
        raise PluginSilent(f"it did not end within {limit:.0f} s") from None
    except (KeyError, TypeError):
        why = "the kubeconfig's args or env are not as they should be"
        raise PluginFailed(why) from None
    except (OSError, ValueError) as error:
        raise PluginFailed(_first_line(str(error))) from None
    if done.returncode:
        given = {key: plugin.get(key) for key in ("args", "env")}
        told = json.dumps(given).encode()
        # It may repeat what it was called with.
        said = masking.masked(_first_line(done.stderr or ""), "", told)
        ended = f"it ended with {done.returncode}"
        raise PluginFailed(f"{ended}: {said}" if said else ended)
    return _read(done.stdout, version)


def _given(plugin: Mapping[str, Any]) -> dict[str, str]:
    """The variables of its environment that the kubeconfig sets."""
    return {item["name"]: item["value"] for item in plugin.get("env") or ()}


def _told(kubeconfig: Kubeconfig) -> Mapping[str, Any]:
    """What is said of the cluster; one extension is the command's own."""
    cluster = dict(kubeconfig.mapping()["clusters"][0]["cluster"])
    for extension in cluster.get("extensions") or ():
        if extension["name"] == "client.authentication.k8s.io/exec":
            cluster["config"] = extension["extension"]
    return cluster


def _read(text: str, version: str) -> Mapping[str, Any]:
    try:
        said = json.loads(text)
    except ValueError:
        raise PluginFailed("it printed no JSON") from None
    if not isinstance(said, dict) or said.get("kind") != "ExecCredential":
        raise PluginFailed("it printed no ExecCredential")
    if said.get("apiVersion") != version:
        raise PluginFailed(f"what it printed is not {version}")
    status = said.get("status")
    if not isinstance(status, dict):
        raise PluginFailed("its ExecCredential has no status")
    return status


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:200] if lines else ""
