"""Cluster API's definitions and webhook configurations, made to fit.

What kustomize and cert-manager add when Cluster API is installed from its
releases is added here: contract labels, conversion, the webhooks' addresses.
"""

from __future__ import annotations

import base64
import pathlib
from typing import Any

import yaml

from tools.plane import components

MANAGERS = ("capi-core", "capi-bootstrap", "capi-control-plane", "capi-dev")
_CONTRACTS = ("v1beta1", "v1beta2")


def definitions(
    folder: pathlib.Path, manager: str, ca: bytes
) -> list[dict[str, Any]]:
    """The CustomResourceDefinitions of a manager."""
    found = []
    for path in sorted((folder / manager / "crd/bases").glob("*.yaml")):
        definition = yaml.safe_load(path.read_text())
        # Core follows no contract: it is who reads these labels, to learn
        # at which version a provider's objects keep the contract.
        if manager != "capi-core":
            labels = definition["metadata"].setdefault("labels", {})
            for version in definition["spec"]["versions"]:
                if version["name"] in _CONTRACTS:
                    label = f"cluster.x-k8s.io/{version['name']}"
                    labels[label] = version["name"]
        definition["spec"]["conversion"] = {
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": _client(manager, "/convert", ca),
            },
        }
        found.append(definition)
    return found


def webhooks(
    folder: pathlib.Path, manager: str, ca: bytes
) -> list[dict[str, Any]]:
    """The webhook configurations of a manager."""
    found = []
    text = (folder / manager / "webhook/manifests.yaml").read_text()
    for configuration in yaml.safe_load_all(text):
        # All managers give theirs the same names.
        metadata = configuration["metadata"]
        metadata["name"] = f"{manager}-{metadata['name']}"
        for hook in configuration["webhooks"]:
            path = hook["clientConfig"]["service"]["path"]
            hook["clientConfig"] = _client(manager, path, ca)
        found.append(configuration)
    return found


def _client(manager: str, path: str, ca: bytes) -> dict[str, str]:
    port = components.webhook_port(manager)
    return {
        "url": f"https://127.0.0.1:{port}{path}",
        "caBundle": base64.b64encode(ca).decode(),
    }
