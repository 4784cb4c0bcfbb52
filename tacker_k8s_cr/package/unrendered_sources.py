"""Sources that another program renders first: charts and kustomizations.

Read as manifests they would cause an error for every template and patch.
They are recognized by the file names of Helm and Kustomize instead, and one
error contains the command to run.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import enum
import posixpath
import shlex
from typing import Any

CHART = "Chart.yaml"
KUSTOMIZATIONS = (
    "kustomization.yaml",
    "kustomization.yml",
    "Kustomization",
)
_KUSTOMIZE = "kustomize.config.k8s.io/"


class Source(enum.Enum):
    """What a folder is, if it holds no plain manifests."""

    CHART = "a Helm chart"
    KUSTOMIZATION = "a kustomization"


Read = Callable[[str], Any]
"""The content of a file as one value; None where it cannot be read."""


def folders(names: Iterable[str], read: Read) -> dict[str, Source]:
    """Return the outermost folders of charts and kustomizations.

    :param names: of all files, with slashes.
    """
    found: dict[str, Source] = {}
    for name in sorted(names):
        base = posixpath.basename(name)
        if base == CHART and is_chart(read(name)):
            found[posixpath.dirname(name)] = Source.CHART
        elif base in KUSTOMIZATIONS and is_kustomization(read(name)):
            # A chart may have one beside it; Helm ignores it.
            found.setdefault(posixpath.dirname(name), Source.KUSTOMIZATION)
    return {
        folder: source
        for folder, source in found.items()
        if not is_within(posixpath.dirname(folder), found, folder)
    }


def is_within(name: str, found: Mapping[str, Source], but: str = "-") -> bool:
    """Whether a path is one of the folders, or lies in one."""
    return any(
        folder != but
        and (not folder or name == folder or name.startswith(f"{folder}/"))
        for folder in found
    )


def is_chart(value: Any) -> bool:
    """Whether the content of a Chart.yaml is Helm's."""
    return (
        isinstance(value, dict)
        and "kind" not in value
        and "name" in value
        and "version" in value
    )


def is_kustomization(value: Any) -> bool:
    """Whether the content is for Kustomize, and not for a server.

    Flux has objects of the kind Kustomization; Kustomize itself needs
    neither apiVersion nor kind. An empty file is one of Kustomize's.
    """
    if value is None:
        return True
    if not isinstance(value, dict):
        return False
    version = value.get("apiVersion")
    if isinstance(version, str):
        return version.startswith(_KUSTOMIZE)
    return "metadata" not in value


def advice(source: Source, path: str) -> str:
    """Return what a folder on the disk is, and how to render it."""
    folder = shlex.quote(path or ".")
    if source is Source.CHART:
        return (
            "is a Helm chart; render it first: helm template NAME "
            f"{folder} --include-crds | tacker-k8s-cr instantiate NAME -"
        )
    return (
        "is a kustomization; build it first: kubectl kustomize "
        f"{folder} | tacker-k8s-cr instantiate NAME - (or name the files to "
        "apply without it)"
    )


def packed_advice(source: Source) -> str:
    """Return what is to be done with one inside a CSAR or archive."""
    program = {
        Source.CHART: "helm template",
        Source.KUSTOMIZATION: "kubectl kustomize",
    }[source]
    return f"is {source.value}; use the output of {program} instead"
