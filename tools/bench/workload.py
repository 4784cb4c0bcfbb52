"""What is applied: ConfigMaps of 1 KiB, Widgets, a chart, definitions."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import pathlib
import random
import string
from typing import Any

import yaml

from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package

LABEL = {"bench": "client"}
"""The Go client selects what to delete by it; the project uses CRDs."""

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


def change_text(
    manifests: Sequence[Manifest], number: int, text: str = "changed"
) -> list[Manifest]:
    """The same, except for an annotation of one."""
    found = list(manifests)
    metadata = dict(found[number]["metadata"])
    metadata["annotations"] = {"bench": text}
    found[number] = {**found[number], "metadata": metadata}
    return found


def mixed_manifests(count: int, widgets: bool = True) -> tuple[Manifest, ...]:
    """So many objects of four kinds in equal parts, or of three of them.

    The first two are of kinds that no controller works on.

    :param widgets: whether the cluster has these.
    """
    makers = (service, secret, deployment, *((_widget,) if widgets else ()))
    return tuple(makers[n % len(makers)](n) for n in range(count))


def deployment(number: int) -> Manifest:
    """A Deployment as authors write it, of which no Pod comes."""
    labels = {"app": f"app-{number:05}"}
    container = {
        "name": "main",
        "image": "registry.example.org/app:1.0",
        "args": ["--verbose", f"--number={number}"],
        "env": [{"name": name, "value": name.lower()} for name in "ABC"],
        "ports": [{"name": "http", "containerPort": 8080}],
        "resources": {"limits": {"cpu": "500m", "memory": "64Mi"}},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"app-{number:05}", "labels": labels},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [container],
                    "volumes": [{"name": "tmp", "emptyDir": {}}],
                },
            },
        },
    }


def service(number: int) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"app-{number:05}"},
        "spec": {
            "selector": {"app": f"app-{number + 2:05}"},
            "ports": [{"name": "http", "port": 80, "targetPort": "http"}],
        },
    }


def secret(number: int) -> Manifest:
    text = base64.b64encode(f"secret {number}".encode()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"app-{number:05}"},
        "data": {"key": text},
    }


def _widget(number: int) -> Manifest:
    return widget(f"app-{number:05}")


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
