"""What instances and programs leave, where no secret belongs."""

from __future__ import annotations

import base64
from collections.abc import Iterator
import contextlib
import json
import pathlib

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.state import record_secrets
from tests.secrecy import canary_secrets

SECRET = GroupKind("", "Secret")
KINDS = (
    SECRET,
    GroupKind("", "ConfigMap"),
    GroupKind("", "Event"),
    GroupKind("coordination.k8s.io", "Lease"),
)


def texts_outside_secrets(
    cluster: Cluster, namespace: str
) -> Iterator[tuple[str, str]]:
    """Objects of a namespace that hold no manifest, and what is in them.

    Of the Secrets it is the head of each record: its pieces hold manifests,
    and the rest are the instances' own.
    """
    found = results_or_raise(
        cluster.map_parallel(
            lambda kind: list(cluster.list_objects(kind, namespace)), KINDS
        )
    )
    for kind, listed in found:
        for obj in listed:
            where = f"{kind}/{namespace}/{obj['metadata']['name']}"
            head = objects.field(obj, ("data", "head"))
            if kind != SECRET:
                yield where, json.dumps(obj)
            elif head and obj.get("type") == record_secrets.TYPE:
                yield where, base64.b64decode(head).decode(errors="replace")


def files_with_secrets(folder: pathlib.Path) -> Iterator[tuple[str, str]]:
    """The files of a folder with a secret in them, and what they hold."""
    for path in sorted(folder.rglob("*")):
        # Some come and go.
        with contextlib.suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink():
                text = path.read_bytes().decode(errors="replace")
                if canary_secrets.PATTERN.search(text):
                    yield str(path.relative_to(folder)), text
