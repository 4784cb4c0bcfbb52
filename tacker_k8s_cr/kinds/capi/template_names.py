"""The names under which templates live that change.

A template is immutable, or starts no rollout when it is edited in place. A
changed one therefore gets a new name with a hash of its content: the same
content always has the same name.
"""

from __future__ import annotations

import hashlib
import json

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest

DIGITS = 10
MAX_LENGTH = 253
"""Characters of an object's name, as Kubernetes allows."""


def hashed_name(manifest: Manifest) -> str:
    """The author's name and ten digits of the hash of the spec."""
    spec = json.dumps(
        objects.field(manifest, ("spec",), {}),
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )
    digest = hashlib.sha256(spec.encode()).hexdigest()[:DIGITS]
    name = str(manifest["metadata"]["name"])[: MAX_LENGTH - DIGITS - 1]
    return f"{name.rstrip('.-')}-{digest}"
