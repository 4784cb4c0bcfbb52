"""Packages of manifests, one for another."""

from __future__ import annotations

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tests.functional import manifests

GROUP = "test.example.org"
STORED = {objects.PREFIX + "readiness": "exists"}


def make_package(*given):
    return Package(
        "test",
        tuple(
            Document(manifest, f"a.yaml, document {number}")
            for number, manifest in enumerate(given, 1)
        ),
    )


OLD = make_package(
    manifests.custom(GROUP, "Thing", "one", STORED),
    manifests.definition(GROUP, "Thing"),
    manifests.config_map("same"),
    manifests.config_map("old"),
)
NEW = make_package(
    manifests.definition(GROUP, "Thing"),
    manifests.custom(GROUP, "Thing", "one", STORED, size="xl"),
    manifests.custom(GROUP, "Thing", "two", STORED),
    manifests.config_map("same"),
)
