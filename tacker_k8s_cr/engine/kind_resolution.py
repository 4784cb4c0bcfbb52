"""Resolve the kinds of a package: how each is served, and its handler."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses

from tacker_k8s_cr.engine import suggestions
from tacker_k8s_cr.kinds import generic
from tacker_k8s_cr.kinds import policy
from tacker_k8s_cr.kinds import storage
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import selectors
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan import waves


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
        first.others = tuple(also)
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
                item = selectors.parse_expected_kind(part)
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
