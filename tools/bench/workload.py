"""What is applied: ConfigMaps of 1 KiB, and a Widget."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import pathlib
import random
import string
from typing import Any

import yaml

from tacker_k8s_cr.package.model import Document
from tacker_k8s_cr.package.model import Package

LABEL = {"bench": "client"}
"""By it the Go client knows what to delete."""

SIZE = 1024
"""Bytes of data in a ConfigMap."""

WIDGETS = "widgets.v1.demo.example.org"


def config_maps(count: int) -> tuple[Mapping[str, Any], ...]:
    """So many ConfigMaps; the same ones each time, no two of them alike."""
    return tuple(_config_maps(count))


def _config_maps(count: int) -> Iterator[Mapping[str, Any]]:
    draw = random.Random(count)  # noqa: S311
    letters = string.ascii_letters + string.digits
    for number in range(count):
        yield {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"item-{number:05}", "labels": LABEL},
            "data": {"text": "".join(draw.choices(letters, k=SIZE))},
        }


def widget(name: str) -> Mapping[str, Any]:
    """An object that a Stage of kwok makes ready after a second."""
    return {
        "apiVersion": "demo.example.org/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"size": "small"},
    }


def package(manifests: Sequence[Mapping[str, Any]]) -> Package:
    """The manifests as the package that ours takes."""
    return Package(
        "bench",
        tuple(
            Document(manifest, f"objects.yaml, document {number}")
            for number, manifest in enumerate(manifests, 1)
        ),
    )


def write(path: pathlib.Path, manifests: Sequence[Mapping[str, Any]]) -> None:
    """The manifests as the file that the peers take."""
    with open(path, "w") as file:
        yaml.safe_dump_all(manifests, file, sort_keys=False)
