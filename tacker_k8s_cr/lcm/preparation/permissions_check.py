"""Check the permissions of the user before the first write."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import logging

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import permissions
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Resource
from tacker_k8s_cr.model.permissions import PermissionNeed
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.placement import PlacedManifest

LOG = logging.getLogger(__name__)


@dataclasses.dataclass
class PermissionCheck:
    """Missing permissions, and the objects for which none is needed."""

    server: str
    missing: tuple[PermissionNeed, ...]
    shared: frozenset[ObjectRef] = frozenset()

    def check(self) -> None:
        """Raise PermissionsMissing for missing permissions that are needed."""
        missing = [
            need.permission
            for need in self.missing
            if not need.refs or need.refs - self.shared
        ]
        if missing:
            raise errors.PermissionsMissing(
                self.server, permissions.format_permissions(missing)
            )


@contextlib.contextmanager
def package_permissions(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    record_namespace: str,
    *,
    vdus: Collection[ObjectRef] = (),
    requests: Sequence[PlacedManifest] = (),
    claim_sets: Collection[ObjectRef] = (),
    wanted: bool = True,
) -> Iterator[PermissionCheck]:
    """Check permissions for a package within this context; write nothing.

    Objects may turn out to be shared there: they are neither created nor
    deleted. An error about missing permissions precedes any other error.

    :param record_namespace: the namespace of the record.
    :param vdus: the objects of the VDUs.
    :param requests: objects that the server answers and does not store.
    :param claim_sets: StatefulSets whose claims are deleted at the end.
    :param wanted: whether to check at all.
    """
    missing: tuple[PermissionNeed, ...] = ()
    if wanted:
        missing = _find_missing_for_package(
            cluster, items, record_namespace, vdus, requests, claim_sets
        )
    found = PermissionCheck(cluster.server, missing)
    try:
        yield found
    except (errors.Forbidden, errors.DryRunFailed) as error:
        refusals = getattr(error, "refusals", (error,))
        if any(isinstance(refusal, errors.Forbidden) for refusal in refusals):
            found.check()
        raise
    found.check()


@contextlib.contextmanager
def read_permissions(
    cluster: Cluster, record_namespace: str, *, wanted: bool = True
) -> Iterator[None]:
    """Read a record within this context, before any other request.

    If that is forbidden, all permissions that are missing for the record are
    reported at once.
    """
    try:
        yield
    except errors.Forbidden:
        if wanted:
            _require(cluster, permissions.for_record(record_namespace))
        raise


def require_delete(
    cluster: Cluster, refs: Collection[ObjectRef], *, wanted: bool = True
) -> None:
    """Raise PermissionsMissing for objects that the user may not delete."""
    if not refs or not wanted:
        return
    resources = {}
    for kind in {ref.group_kind for ref in refs}:
        with contextlib.suppress(errors.KindNotServed):
            resources[kind] = cluster.resource(kind)
    _require(cluster, permissions.for_deletions(refs, resources))


def require_delete_claims(
    cluster: Cluster,
    stateful_sets: Collection[ObjectRef],
    *,
    wanted: bool = True,
) -> None:
    """Raise PermissionsMissing if the user cannot delete the claims of these.

    :param stateful_sets: StatefulSets.
    """
    if stateful_sets and wanted:
        _require(cluster, permissions.for_claims(stateful_sets), RETAIN_CLAIMS)


RETAIN_CLAIMS = (
    "They are needed to delete the volume claims of StatefulSets. Nothing "
    "has been deleted. Grant them, or retain the claims with "
    "statefulset_claims: retain (--statefulset-claims retain)."
)


def _require(
    cluster: Cluster, needs: Sequence[PermissionNeed], remedy: str = ""
) -> None:
    try:
        missing = _find_missing(cluster, needs)
    except (
        errors.Forbidden,
        errors.DependencyMissing,
        errors.Rejected,
    ) as error:
        LOG.info("rights were not checked: %s", error)
        return
    if missing:
        raise errors.PermissionsMissing(
            cluster.server,
            permissions.format_permissions(
                need.permission for need in missing
            ),
            remedy,
        )


def missing_for_record(cluster: Cluster, namespace: str) -> tuple[str, ...]:
    """Return the user's missing permissions for records in a namespace."""
    needs = permissions.for_record(namespace) + permissions.for_diagnostics(
        namespace
    )
    missing = _find_missing(cluster, needs)
    return permissions.format_permissions(need.permission for need in missing)


def _find_missing_for_package(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    record_namespace: str,
    vdus: Collection[ObjectRef],
    requests: Sequence[PlacedManifest],
    claim_sets: Collection[ObjectRef],
) -> tuple[PermissionNeed, ...]:
    resources = _resources(cluster, (*items, *requests))
    needs = (
        *permissions.for_record(record_namespace),
        *permissions.for_objects(
            [item.ref for item in items],
            resources,
            placement.kinds_by_crd(item.manifest for item in items),
            [
                ref
                for ref in vdus
                if ref.group_kind in resources
                and "scale" in resources[ref.group_kind].subresources
            ],
        ),
        *permissions.for_members(vdus),
        *permissions.for_dry_run([item.ref for item in requests], resources),
        *permissions.for_claims(claim_sets),
    )
    # A user who may create a namespace often gets permissions in it then.
    packaged = {
        item.ref.name
        for item in items
        if item.ref.group_kind == placement.NAMESPACE
    }
    try:
        missing = _find_missing(cluster, needs)
    except (
        errors.Forbidden,
        errors.DependencyMissing,
        errors.Rejected,
    ) as error:
        LOG.info("rights were not checked: %s", error)
        return ()
    required = [
        need
        for need in missing
        if need.is_required and need.permission.namespace not in packaged
    ]
    if optional := [
        need.permission for need in missing if need not in required
    ]:
        LOG.info(
            "%s: forbidden, but possibly not required: %s",
            cluster.server,
            "; ".join(permissions.format_permissions(optional)),
        )
    return tuple(required)


def _resources(
    cluster: Cluster, items: Iterable[PlacedManifest]
) -> Mapping[GroupKind, Resource]:
    """Return how each kind is served, or will be after the package's CRDs."""
    items = tuple(items)
    found = {
        kind: Resource(
            kind.group,
            "",
            kind.kind,
            str(objects.field(item.manifest, ("spec", "names", "plural"), "")),
            packaged.namespaced,
            subresources=packaged.subresources,
        )
        for item in items
        for kind, packaged in placement.packaged_kinds([item.manifest]).items()
    }
    for kind in {item.ref.group_kind for item in items}:
        with contextlib.suppress(errors.KindNotServed):
            found[kind] = cluster.resource(kind)
    return found


def _find_missing(
    cluster: Cluster, needs: Sequence[PermissionNeed]
) -> tuple[PermissionNeed, ...]:
    """Return those of the needs that the server does not allow.

    One request identifies a user with all permissions; for any other user the
    rules of each namespace decide most needs, and only the remaining ones
    cost a request each.
    """
    if cluster.can_i(permissions.EVERYTHING):
        return ()
    namespaces = sorted({need.permission.namespace for need in needs} - {""})
    rules = dict(
        results_or_raise(cluster.map_parallel(cluster.list_rules, namespaces))
    )
    undecided = [
        need
        for need in needs
        if not permissions.is_allowed_by(
            need.permission, rules.get(need.permission.namespace, ())
        )
    ]
    single_needs = dict.fromkeys(need.permission for need in undecided)
    allowed = dict(
        results_or_raise(cluster.map_parallel(cluster.can_i, single_needs))
    )
    return tuple(need for need in undecided if not allowed[need.permission])
