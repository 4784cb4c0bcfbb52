"""Run the exec plug-in of a kubeconfig for a credential.

The Kubernetes client runs such plug-ins, too, but without a limit of time.
"""

from __future__ import annotations

from collections.abc import Mapping
import json
import math
import os
import subprocess
import sys
from typing import Any

from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.model import redaction

TIMEOUT = 60.0
"""Limit for a plug-in without a terminal, where no user has to log in."""


class ExecPluginError(Exception):
    """Why there is no credential, without the output of the plug-in."""


class ExecPluginTimeout(ExecPluginError):
    """The plug-in did not end in time and was terminated."""


def run_plugin(kubeconfig: Kubeconfig, seconds: float) -> Mapping[str, Any]:
    """Return the status of the ExecCredential that the plug-in prints.

    :param seconds: after which the plug-in is terminated.
    """
    plugin = kubeconfig.exec_plugin or {}
    for key in ("command", "apiVersion"):
        if not plugin.get(key):
            raise ExecPluginError(f"its {key} is missing in the kubeconfig")
    version = plugin["apiVersion"]
    interactive = sys.stdout is not None and sys.stdout.isatty()
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.get("provideClusterInfo"):
        spec["cluster"] = _cluster_info(kubeconfig)
    request = {"apiVersion": version, "kind": "ExecCredential", "spec": spec}
    limit = seconds if interactive else min(seconds, TIMEOUT)
    try:
        done = subprocess.run(  # noqa: S603  it is the user's kubeconfig
            [plugin["command"], *(plugin.get("args") or ())],
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if interactive else subprocess.PIPE,
            env={
                **os.environ,
                **_environment(plugin),
                "KUBERNETES_EXEC_INFO": json.dumps(request),
            },
            text=True,
            timeout=None if limit == math.inf else limit,
        )
    except subprocess.TimeoutExpired:
        raise ExecPluginTimeout(
            f"it did not end within {limit:.0f} s"
        ) from None
    except (KeyError, TypeError):
        why = "the kubeconfig's args or env are invalid"
        raise ExecPluginError(why) from None
    except (OSError, ValueError) as error:
        raise ExecPluginError(_first_line(str(error))) from None
    if done.returncode:
        secret_fields = {key: plugin.get(key) for key in ("args", "env")}
        secrets = json.dumps(secret_fields).encode()
        # Its error text may contain its arguments.
        message = redaction.redact(_first_line(done.stderr or ""), "", secrets)
        ended = f"it ended with {done.returncode}"
        raise ExecPluginError(f"{ended}: {message}" if message else ended)
    return _parse_output(done.stdout, version)


def _environment(plugin: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment variables that the kubeconfig sets."""
    return {item["name"]: item["value"] for item in plugin.get("env") or ()}


def _cluster_info(kubeconfig: Kubeconfig) -> Mapping[str, Any]:
    """Return the cluster of KUBERNETES_EXEC_INFO with the plug-in's config."""
    cluster = dict(kubeconfig.to_dict()["clusters"][0]["cluster"])
    for extension in cluster.get("extensions") or ():
        if extension["name"] == "client.authentication.k8s.io/exec":
            cluster["config"] = extension["extension"]
    return cluster


def _parse_output(text: str, version: str) -> Mapping[str, Any]:
    try:
        credential = json.loads(text)
    except ValueError:
        raise ExecPluginError("it printed no JSON") from None
    if (
        not isinstance(credential, dict)
        or credential.get("kind") != "ExecCredential"
    ):
        raise ExecPluginError("it printed no ExecCredential")
    if credential.get("apiVersion") != version:
        raise ExecPluginError(f"what it printed is not {version}")
    status = credential.get("status")
    if not isinstance(status, dict):
        raise ExecPluginError("its ExecCredential has no status")
    return status


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:200] if lines else ""
