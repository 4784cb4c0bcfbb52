"""What is applied: ConfigMaps of 1 KiB, Widgets, a chart, definitions."""

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
"""By it the Go client knows what to delete, and we definitions of ours."""

SIZE = 1024
"""Bytes of data in a ConfigMap."""

WIDGETS = "widgets.v1.demo.example.org"

KINDS = 5
"""Definitions in a group."""

Manifest = Mapping[str, Any]


def config_maps(
    count: int, name: str = "item", drawn: int = SIZE
) -> tuple[Manifest, ...]:
    """So many ConfigMaps; the same ones each time, no two of them alike.

    :param drawn: bytes of the text that are drawn by lot; the rest repeats
        them, so that it can be compressed.
    """
    return tuple(_config_maps(count, name, drawn))


def _config_maps(count: int, name: str, drawn: int) -> Iterator[Manifest]:
    draw = random.Random(count)  # noqa: S311
    letters = string.ascii_letters + string.digits
    for number in range(count):
        text = "".join(draw.choices(letters, k=drawn))
        yield {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"{name}-{number:05}", "labels": LABEL},
            "data": {"text": (text * (SIZE // drawn + 1))[:SIZE]},
        }


def changed(manifests: Sequence[Manifest], number: int) -> list[Manifest]:
    """The same, but for the text of one."""
    found = list(manifests)
    text = f"changed {number}".ljust(SIZE, ".")
    found[number] = {**found[number], "data": {"text": text}}
    return found


def widget(name: str) -> Manifest:
    """An object that a Stage of kwok makes ready after a second."""
    return {
        "apiVersion": "demo.example.org/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"size": "small"},
    }


def definitions(count: int) -> tuple[Manifest, ...]:
    """So many CustomResourceDefinitions, some of them in each group."""
    return tuple(map(_definition, range(count)))


def _definition(number: int) -> Manifest:
    group = f"group-{number // KINDS}.bench.example.org"
    kind = f"Item{number % KINDS}"
    schema = {
        "type": "object",
        "properties": {
            part: {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
            }
            for part in ("spec", "status")
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.{group}", "labels": LABEL},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": f"{kind.lower()}s"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


def package(manifests: Sequence[Manifest]) -> Package:
    """The manifests as the package that ours takes."""
    return Package(
        "bench",
        tuple(
            Document(manifest, f"objects.yaml, document {number}")
            for number, manifest in enumerate(manifests, 1)
        ),
    )


def write(path: pathlib.Path, manifests: Sequence[Manifest]) -> None:
    """The manifests as the file that the peers take."""
    with open(path, "w") as file:
        yaml.safe_dump_all(manifests, file, sort_keys=False)


def chart(folder: pathlib.Path, manifests: Sequence[Manifest]) -> None:
    """The manifests as the chart that Helm takes."""
    templates = folder / "templates"
    templates.mkdir(parents=True)
    about = {"apiVersion": "v2", "name": "bench", "version": "1.0.0"}
    (folder / "Chart.yaml").write_text(yaml.safe_dump(about))
    write(templates / "objects.yaml", manifests)
