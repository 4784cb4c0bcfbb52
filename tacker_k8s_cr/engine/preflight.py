"""Validate a whole package before the first write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import re

from tacker_k8s_cr.engine import suggestions
from tacker_k8s_cr.kinds import generic
from tacker_k8s_cr.kinds import policy
from tacker_k8s_cr.kinds import storage
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model import selectors
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.plan import naming
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan import waves
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


@dataclasses.dataclass(frozen=True)
class KindResolution:
    """How the kinds of a package are served, or will be served.

    :param namespaced: by kind, whether its objects have a namespace.
    :param subresources: by kind, such as ``status`` and ``scale``.
    :param unserved: kinds that the package defines and that are not served
        at all, so that no objects of them can exist.
    :param other_version: kinds that are served, but not at the version that
        the package defines and uses; objects of them may exist.
    :param expected: those of both that the package does not define.
    :param create_only: kinds whose objects the server does not store, such as
        a SubjectAccessReview: create is their only verb.
    """

    namespaced: Mapping[GroupKind, bool]
    subresources: Mapping[GroupKind, frozenset[str]]
    unserved: frozenset[GroupKind]
    other_version: frozenset[GroupKind]
    expected: frozenset[GroupKind] = frozenset()
    create_only: frozenset[GroupKind] = frozenset()

    @property
    def not_sendable(self) -> frozenset[GroupKind]:
        """Kinds whose manifests the server cannot accept yet."""
        return self.unserved | self.other_version


def resolve_kinds(
    cluster: Cluster,
    documents: Sequence[Document],
    expected: Mapping[GroupKind, selectors.ExpectedKind] | None = None,
) -> KindResolution:
    """Resolve every kind of a package. Raises KindNotServed for missing ones.

    :param expected: kinds that an object of the package defines later.
    """
    packaged = placement.packaged_kinds(
        document.manifest for document in documents
    )
    expected = expected or {}
    sources: dict[tuple[GroupKind, str], list[str]] = defaultdict(list)
    for document in documents:
        _, version = objects.split_api_version(document.manifest["apiVersion"])
        key = GroupKind.of(document.manifest), version
        sources[key].append(document.where)
    namespaced = {}
    subresources = {}
    unserved: set[GroupKind] = set()
    other_version: set[GroupKind] = set()
    create_only: set[GroupKind] = set()
    unknown = []
    # One request for each group; kinds of a group share the response.
    for (kind, version), where in sorted(sources.items()):
        try:
            resource = cluster.resource(kind, version)
        except errors.KindNotServed as error:
            if kind in packaged and version in packaged[kind].versions:
                namespaced[kind] = packaged[kind].namespaced
                subresources[kind] = packaged[kind].subresources
                (other_version if error.served else unserved).add(kind)
            elif kind in expected:
                namespaced[kind] = expected[kind].namespaced
                # Assumed until its definition is established.
                subresources[kind] = frozenset(["status"])
                (other_version if error.served else unserved).add(kind)
            else:
                unknown.append(
                    errors.KindNotServed(kind, version, error.served, where)
                )
            continue
        namespaced[kind] = resource.namespaced
        subresources[kind] = resource.subresources
        if resource.verbs == CREATE:
            create_only.add(kind)
    if unknown:
        requested = list(sources)  # in the order of the package
        unknown.sort(key=lambda e: requested.index((e.group_kind, e.version)))
        suggestions.add_hints(unknown, cluster.resources)
        first, *also = unknown
        first.also = tuple(also)
        raise first
    return KindResolution(
        namespaced,
        subresources,
        frozenset(unserved),
        frozenset(other_version),
        frozenset((unserved | other_version) - packaged.keys()),
        frozenset(create_only),
    )


CREATE = frozenset(["create"])


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


def expected_kinds(
    documents: Sequence[Document], package_policy: policy.Policy
) -> dict[GroupKind, selectors.ExpectedKind]:
    """Return kinds that a request or an annotation expects to appear later."""
    found = {item.kind: item for item in package_policy.expected_kinds}
    problems = []
    for document in documents:
        text = objects.annotation(document.manifest, "expected-kinds") or ""
        for part in waves.split_list(text):
            try:
                item = selectors.expected(part)
            except errors.RequestInvalid as error:
                subject = ObjectRef.of(document.manifest)
                prefix = (
                    f"{subject}: annotation {objects.PREFIX}expected-kinds: "
                )
                problems.append(Problem(document.where, f"{prefix}{error}"))
            else:
                found.setdefault(item.kind, item)
    if problems:
        raise errors.PackageInvalid(problems)
    return found


def with_statusless_kinds(
    registry: Registry, subresources: Mapping[GroupKind, frozenset[str]]
) -> Registry:
    """Return the registry, with undescribed kinds that have no status."""
    return registry.with_handlers(
        {
            kind: generic.STORED
            for kind, found in subresources.items()
            if "status" not in found and registry.find(kind) is None
        }
    )


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
            generic.of_annotations(manifest)
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


def claim_handlers(
    cluster: Cluster, manifests: Sequence[Manifest], registry: Registry
) -> Handlers:
    """Return a handler of claims that reads the cluster's storage classes.

    A claim of a class with WaitForFirstConsumer is current while it is
    pending; the claim itself does not show this. Empty without claims, and
    if a third party's handler judges them.
    """
    if registry[storage.CLAIM].name or not any(
        GroupKind.of(m) == storage.CLAIM for m in manifests
    ):
        return {}
    classes = [m for m in manifests if GroupKind.of(m) == STORAGE_CLASS]
    # Without the permission, the claim's own status is used.
    with contextlib.suppress(errors.Forbidden):
        classes.extend(cluster.list_objects(STORAGE_CLASS))
        return storage.claim_handler(classes)
    return {}


STORAGE_CLASS = GroupKind("storage.k8s.io", "StorageClass")

Handlers = Mapping[GroupKind, Handler]


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
