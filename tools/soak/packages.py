"""The packages of the instances: forms, each in several versions: pure.

Version ``a`` and ``b`` succeed. ``stuck`` never becomes current, ``invalid``
is refused by the server and ``foreign`` names an object of another manager.
Every object is named after its instance.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import functools
from typing import Any

from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tools.soak import package_forms

GOOD = ("a", "b")
STUCK = "stuck"
INVALID = "invalid"
FOREIGN = "foreign"
VERSIONS = (*GOOD, STUCK, INVALID, FOREIGN)

CLUSTER_SCOPED = frozenset({"CustomResourceDefinition"})
DONE_ONCE = frozenset({"Job"})
"""Kinds whose objects a rollback does not bring back: it would run them."""
SCALABLE = frozenset({"Deployment", "StatefulSet"})
WIDGET = GroupKind("demo.example.org", "Widget")


def manifests(
    form: str, version: str, name: str
) -> tuple[package_forms.Obj, ...]:
    """Return the manifests of a version, without namespaces."""
    good = version if version in GOOD else "b"
    found = package_forms.FORMS[form](name, good)
    if version == STUCK:
        # No node has this label, so its Pod is never scheduled.
        pod = {"nodeSelector": {"example.org/soak": "absent"}}
        found.append(
            package_forms.workload("Deployment", f"{name}-stuck", 1, "1", pod)
        )
    elif version == INVALID:
        found.append(package_forms.service(f"{name}-invalid", 99999))
    elif version == FOREIGN:
        found.append(package_forms.config_map(f"{name}-foreign", "ours"))
    return tuple(found)


@functools.cache
def package(form: str, version: str, name: str) -> Package:
    """Return a version as a package."""
    return Package(
        f"{form}-{version}",
        tuple(
            Document(manifest, f"{version}.yaml, document {number}")
            for number, manifest in enumerate(
                manifests(form, version, name), 1
            )
        ),
    )


def version_of(form: str, name: str, digest: str) -> str:
    """Return the version that has this digest; empty for none."""
    for version in VERSIONS:
        if package(form, version, name).digest == digest:
            return version
    return ""


def placed(manifest: Mapping[str, Any], namespace: str) -> ObjectRef:
    """Return the reference that an object of a manifest has."""
    ref = ObjectRef.of(manifest)
    where = "" if ref.kind in CLUSTER_SCOPED else namespace
    return ObjectRef(ref.group, ref.kind, where, ref.name)


def targets(form: str, version: str, name: str) -> dict[str, int]:
    """Return what can be scaled, with the number that the package has."""
    return {
        f"{manifest['kind']}/{manifest['metadata']['name']}": int(
            manifest["spec"]["replicas"]
        )
        for manifest in manifests(form, version, name)
        if manifest["kind"] in SCALABLE
    }


def possible_forms(kinds: Collection[GroupKind]) -> tuple[str, ...]:
    """Return the forms that a cluster which serves these kinds can have."""
    return tuple(
        f for f in package_forms.FORMS if f != "widget" or WIDGET in kinds
    )
