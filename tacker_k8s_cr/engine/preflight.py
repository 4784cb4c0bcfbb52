"""Validate the whole of a package before the first write."""

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

OLDEST = (1, 25)
"""Kubernetes that we support; server-side field validation came with it."""


def require_supported_server(cluster: Cluster) -> None:
    """Refuse a server that is too old."""
    found = cluster.version()
    numbers = re.match(r"v?(\d+)\.(\d+)", found)
    if numbers and tuple(int(n) for n in numbers.groups()) < OLDEST:
        raise errors.RequestInvalid(
            f"the API server {cluster.server} is Kubernetes {found}; "
            f"v{OLDEST[0]}.{OLDEST[1]} or newer is needed"
        )


@dataclasses.dataclass(frozen=True)
class KindResolution:
    """How the kinds of a package are served, or will be.

    :param namespaced: by kind, whether its objects lie in a namespace.
    :param subresources: by kind, such as ``status`` and ``scale``.
    :param later: kinds that the package itself brings and that are not
        served at all, so that there can be no objects of them.
    :param newer: kinds that are served, at another version than the package
        brings and uses; there may well be objects of them.
    :param expected: those of both that the package itself does not bring.
    :param create_only: kinds whose objects the server answers and does not
        keep, such as a SubjectAccessReview: creating is their only verb.
    """

    namespaced: Mapping[GroupKind, bool]
    subresources: Mapping[GroupKind, frozenset[str]]
    later: frozenset[GroupKind]
    newer: frozenset[GroupKind]
    expected: frozenset[GroupKind] = frozenset()
    create_only: frozenset[GroupKind] = frozenset()

    @property
    def not_yet(self) -> frozenset[GroupKind]:
        """Kinds that cannot be sent as the package has them."""
        return self.later | self.newer


def resolve_kinds(
    cluster: Cluster,
    documents: Sequence[Document],
    expected: Mapping[GroupKind, selectors.ExpectedKind] | None = None,
) -> KindResolution:
    """Find every kind of a package. Raises KindNotServed for missing ones.

    :param expected: kinds that an object of the package defines later.
    """
    brought = placement.packaged_kinds(
        document.manifest for document in documents
    )
    expected = expected or {}
    wheres: dict[tuple[GroupKind, str], list[str]] = defaultdict(list)
    for document in documents:
        _, version = objects.split_api_version(document.manifest["apiVersion"])
        key = GroupKind.of(document.manifest), version
        wheres[key].append(document.where)
    namespaced = {}
    subresources = {}
    later: set[GroupKind] = set()
    newer: set[GroupKind] = set()
    create_only: set[GroupKind] = set()
    unknown = []
    # One request for a group at a time; kinds of one group share its answer.
    for (kind, version), where in sorted(wheres.items()):
        try:
            resource = cluster.resource(kind, version)
        except errors.KindNotServed as error:
            if kind in brought and version in brought[kind].versions:
                namespaced[kind] = brought[kind].namespaced
                subresources[kind] = brought[kind].subresources
                (newer if error.served else later).add(kind)
            elif kind in expected:
                namespaced[kind] = expected[kind].namespaced
                # Whether it has a status shows when it is there.
                subresources[kind] = frozenset(["status"])
                (newer if error.served else later).add(kind)
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
        found = list(wheres)  # in the order of the package
        unknown.sort(key=lambda e: found.index((e.group_kind, e.version)))
        suggestions.suggest(unknown, cluster.resources)
        first, *also = unknown
        first.also = tuple(also)
        raise first
    return KindResolution(
        namespaced,
        subresources,
        frozenset(later),
        frozenset(newer),
        frozenset((later | newer) - brought.keys()),
        frozenset(create_only),
    )


CREATE = frozenset(["create"])


def names(documents: Sequence[Document], found: KindResolution) -> None:
    """Refuse objects without a name that the server would keep by one."""
    problems = [
        Problem(document.where, f"{GroupKind.of(document.manifest)}: {_NAME}")
        for document in naming.unnamed_documents(documents)
        if GroupKind.of(document.manifest) not in found.create_only
    ]
    if problems:
        raise errors.PackageInvalid(problems)


_NAME = "missing metadata.name"


def expected_kinds(
    documents: Sequence[Document], said: policy.Policy
) -> dict[GroupKind, selectors.ExpectedKind]:
    """Return kinds that a request or an annotation expects to appear later."""
    found = {item.kind: item for item in said.expected_kinds}
    problems = []
    for document in documents:
        text = objects.annotation(document.manifest, "expected-kinds") or ""
        for part in waves.split_list(text):
            try:
                item = selectors.expected(part)
            except errors.RequestInvalid as error:
                subject = ObjectRef.of(document.manifest)
                what = (
                    f"{subject}: annotation {objects.PREFIX}expected-kinds: "
                )
                problems.append(Problem(document.where, f"{what}{error}"))
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
    """Refuse objects of a package that would be part of the record."""
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
    """Refuse invalid annotations of the project, all at once."""
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
        for name, pattern, wanted in _ANNOTATIONS:
            said = objects.annotation(manifest, name)
            if said is not None and not re.fullmatch(pattern, said):
                problems.append(
                    Problem(
                        document.where,
                        f"{ObjectRef.of(manifest)}: annotation "
                        f"{objects.PREFIX}{name}: {said!r} is not {wanted}",
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


def bind_storage_classes(
    cluster: Cluster, manifests: Sequence[Manifest], registry: Registry
) -> Registered:
    """What the cluster's storage classes say about claims of the manifests.

    A claim of a class that binds late is current while it is pending; the
    claim itself does not show this. Empty without claims, and if a third
    party's handler judges them.
    """
    if registry[storage.CLAIM].name or not any(
        GroupKind.of(m) == storage.CLAIM for m in manifests
    ):
        return {}
    classes = [m for m in manifests if GroupKind.of(m) == STORAGE_CLASS]
    # Who may not look leaves the claim's own word.
    with contextlib.suppress(errors.Forbidden):
        classes.extend(cluster.list_objects(STORAGE_CLASS))
        return storage.claim_handler(classes)
    return {}


STORAGE_CLASS = GroupKind("storage.k8s.io", "StorageClass")

Registered = Mapping[GroupKind, Handler]


def missing_namespaces(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    place: str,
    known: Collection[str] = (),
) -> frozenset[str]:
    """Return the namespaces of a package that do not exist yet.

    :param place: the namespace of objects that name none.
    :param known: namespaces in which objects were found.

    Raises NamespaceNotFound for those that the package does not contain.
    """
    wheres: dict[str, list[str]] = defaultdict(list)
    for item in items:
        if item.ref.namespace and item.ref.namespace not in known:
            wheres[item.ref.namespace].append(item.where)
    brought = {
        i.ref.name for i in items if i.ref.group_kind == placement.NAMESPACE
    }
    absent = frozenset(
        name
        for name, found in results_or_raise(
            cluster.map_parallel(
                lambda name: cluster.get_metadata(
                    ObjectRef("", "Namespace", "", name)
                ),
                sorted(wheres),
            )
        )
        if found is None
    )
    if absent - brought:
        raise errors.NamespaceNotFound(
            {name: wheres[name] for name in absent - brought}, place
        )
    return absent
