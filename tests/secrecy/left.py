"""What instances and programs leave, where no secret belongs."""

from __future__ import annotations

import base64
from collections.abc import Iterator
import contextlib
import json
import pathlib

from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.recording import record
from tests.secrecy import marks

SECRET = GroupKind("", "Secret")
KINDS = (
    SECRET,
    GroupKind("", "ConfigMap"),
    GroupKind("", "Event"),
    GroupKind("coordination.k8s.io", "Lease"),
)


def beside_secrets(
    cluster: Cluster, namespace: str
) -> Iterator[tuple[str, str]]:
    """Objects of a namespace that hold no manifest, and what is in them.

    Of the Secrets it is the head of each record: its pieces hold manifests,
    and the rest are the instances' own.
    """
    found = raised(
        cluster.each(
            lambda kind: list(cluster.list_objects(kind, namespace)), KINDS
        )
    )
    for kind, listed in found:
        for obj in listed:
            where = f"{kind}/{namespace}/{obj['metadata']['name']}"
            head = objects.field(obj, ("data", "head"))
            if kind != SECRET:
                yield where, json.dumps(obj)
            elif head and obj.get("type") == record.TYPE:
                yield where, base64.b64decode(head).decode(errors="replace")


def below(folder: pathlib.Path) -> Iterator[tuple[str, str]]:
    """The files of a folder with a secret in them, and what they hold."""
    for path in sorted(folder.rglob("*")):
        # Some come and go.
        with contextlib.suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink():
                text = path.read_bytes().decode(errors="replace")
                if marks.PATTERN.search(text):
                    yield str(path.relative_to(folder)), text
