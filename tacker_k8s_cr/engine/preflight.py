"""Validate a whole package before the first write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Sequence
import re

from tacker_k8s_cr.engine.kind_resolution import KindResolution
from tacker_k8s_cr.kinds import generic
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.plan import naming
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.placement import PlacedManifest

OLDEST_VERSION = (1, 25)
"""Oldest supported Kubernetes: the first with server-side field validation."""


def require_supported_server(cluster: Cluster) -> None:
    """Raise RequestInvalid for a server that is too old."""
    version = cluster.version()
    numbers = re.match(r"v?(\d+)\.(\d+)", version)
    if numbers and tuple(int(n) for n in numbers.groups()) < OLDEST_VERSION:
        raise errors.RequestInvalid(
            f"the API server {cluster.server} is Kubernetes {version}; "
            f"v{OLDEST_VERSION[0]}.{OLDEST_VERSION[1]} or newer is required"
        )


def require_names(
    documents: Sequence[Document], resolution: KindResolution
) -> None:
    """Raise PackageInvalid for stored objects without a name."""
    problems = [
        Problem(
            document.where,
            f"{GroupKind.of(document.manifest)}: {_NAME_MISSING}",
        )
        for document in naming.unnamed_documents(documents)
        if GroupKind.of(document.manifest) not in resolution.create_only
    ]
    if problems:
        raise errors.PackageInvalid(problems)


_NAME_MISSING = "missing metadata.name"


def refuse_record_objects(
    items: Sequence[PlacedManifest], instance: str, home: str
) -> None:
    """Raise PackageInvalid for objects that would be part of the record."""
    name = record_names.PREFIX + instance
    problems = [
        Problem(item.where, f"{item.ref} is part of the instance's record")
        for item in items
        if item.ref.kind in ("Secret", "Lease")
        and item.ref.namespace == home
        and (item.ref.name == name or item.ref.name.startswith(f"{name}."))
    ]
    if problems:
        raise errors.PackageInvalid(problems)


def validate_annotations(documents: Sequence[Document]) -> None:
    """Raise PackageInvalid for all invalid annotations of the project."""
    problems = []
    for document in documents:
        manifest = document.manifest
        if not objects.has_annotations(manifest):
            continue
        try:
            generic.from_annotations(manifest)
        except errors.PackageInvalid as error:
            problems += [
                Problem(document.where, str(problem))
                for problem in error.problems
            ]
        for name, pattern, expected in _ANNOTATIONS:
            value = objects.annotation(manifest, name)
            if value is not None and not re.fullmatch(pattern, value):
                problems.append(
                    Problem(
                        document.where,
                        f"{ObjectRef.of(manifest)}: annotation "
                        f"{objects.PREFIX}{name}: {value!r} is not {expected}",
                    )
                )
    if problems:
        raise errors.PackageInvalid(problems)


_OPERATION = "(instantiate|scale|heal|change|terminate)"

_ANNOTATIONS = (
    ("prune", "true|false", "true or false"),
    ("on-terminate", "keep|delete", "keep or delete"),
    ("cleanup", "services", "services"),
    ("recreate", "true|false", "true or false"),
    ("stall-timeout", r"\d+(\.\d+)?", "a number of seconds"),
    ("wave", r"[+-]?\d{1,6}", "a whole number"),
    ("field-conflicts", "fail|force|ignore", "fail, force or ignore"),
    ("autoscaler-limits", "keep|adjust", "keep or adjust"),
    ("machine-heal-strategy", "delete|remediate", "delete or remediate"),
    (
        "operations",
        rf"{_OPERATION}(\s*,\s*{_OPERATION})*",
        "a list of instantiate, scale, heal, change, terminate",
    ),
)


def find_missing_namespaces(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    default_namespace: str,
    existing: Collection[str] = (),
) -> frozenset[str]:
    """Return the namespaces of a package that do not exist yet.

    :param default_namespace: the namespace of objects that specify none.
    :param existing: namespaces that are known to exist.

    Raises NamespaceNotFound for those that the package does not contain.
    """
    sources: dict[str, list[str]] = defaultdict(list)
    for item in items:
        if item.ref.namespace and item.ref.namespace not in existing:
            sources[item.ref.namespace].append(item.where)
    packaged = {
        i.ref.name for i in items if i.ref.group_kind == placement.NAMESPACE
    }
    absent = frozenset(
        name
        for name, namespace in results_or_raise(
            cluster.map_parallel(
                lambda name: cluster.get_metadata(
                    ObjectRef("", "Namespace", "", name)
                ),
                sorted(sources),
            )
        )
        if namespace is None
    )
    if absent - packaged:
        raise errors.NamespaceNotFound(
            {name: sources[name] for name in absent - packaged},
            default_namespace,
        )
    return absent
