"""Ask, before the first write, whether the user has the rights it takes."""

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
    lacking: tuple[PermissionNeed, ...]
    shared: frozenset[ObjectRef] = frozenset()

    def check(self) -> None:
        """Raise PermissionsMissing for missing permissions that are needed."""
        lacking = [
            need.right
            for need in self.lacking
            if not need.refs or need.refs - self.shared
        ]
        if lacking:
            raise errors.PermissionsMissing(
                self.server, permissions.format_permissions(lacking)
            )


@contextlib.contextmanager
def package_permissions(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    home: str,
    *,
    vdus: Collection[ObjectRef] = (),
    requests: Sequence[PlacedManifest] = (),
    claiming: Collection[ObjectRef] = (),
    wanted: bool = True,
) -> Iterator[PermissionCheck]:
    """Check permissions for a package within this context; write nothing.

    Objects may turn out to be shared there: they are neither created nor
    deleted. An error about missing permissions precedes any other error.

    :param home: the namespace of the record.
    :param vdus: the objects of the VDUs.
    :param requests: objects that the server answers and does not store.
    :param claiming: StatefulSets whose claims are deleted at the end.
    :param wanted: whether to check at all.
    """
    lacking: tuple[PermissionNeed, ...] = ()
    if wanted:
        lacking = _lacking(cluster, items, home, vdus, requests, claiming)
    found = PermissionCheck(cluster.server, lacking)
    try:
        yield found
    except (errors.Forbidden, errors.DryRunFailed) as error:
        said = getattr(error, "refusals", (error,))
        if any(isinstance(one, errors.Forbidden) for one in said):
            found.check()
        raise
    found.check()


@contextlib.contextmanager
def read_permissions(
    cluster: Cluster, home: str, *, wanted: bool = True
) -> Iterator[None]:
    """Read a record within this context, before any other request.

    If that is forbidden, all permissions that are missing for the record are
    reported at once.
    """
    try:
        yield
    except errors.Forbidden:
        if wanted:
            _refuse(cluster, permissions.of_record(home))
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
    _refuse(cluster, permissions.of_deletions(refs, resources))


def deleting_claims(
    cluster: Cluster, sets: Collection[ObjectRef], *, wanted: bool = True
) -> None:
    """Raise PermissionsMissing if the user cannot delete the claims of these.

    :param sets: StatefulSets.
    """
    if sets and wanted:
        _refuse(cluster, permissions.of_claims(sets), RETAIN_CLAIMS)


RETAIN_CLAIMS = (
    "They are needed to delete the volume claims of StatefulSets. Nothing "
    "has been deleted. Grant them, or retain the claims with "
    "statefulset_claims: retain (--statefulset-claims retain)."
)


def _refuse(
    cluster: Cluster, needs: Sequence[PermissionNeed], remedy: str = ""
) -> None:
    try:
        lacking = _asked(cluster, needs)
    except (
        errors.Forbidden,
        errors.DependencyMissing,
        errors.Rejected,
    ) as error:
        LOG.info("rights were not checked: %s", error)
        return
    if lacking:
        raise errors.PermissionsMissing(
            cluster.server,
            permissions.format_permissions(need.right for need in lacking),
            remedy,
        )


def of_record(cluster: Cluster, namespace: str) -> tuple[str, ...]:
    """Return the user's missing permissions for records in a namespace."""
    needs = permissions.of_record(namespace) + permissions.of_explanations(
        namespace
    )
    lacking = _asked(cluster, needs)
    return permissions.format_permissions(need.right for need in lacking)


def _lacking(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    home: str,
    vdus: Collection[ObjectRef],
    requests: Sequence[PlacedManifest],
    claiming: Collection[ObjectRef],
) -> tuple[PermissionNeed, ...]:
    resources = _resources(cluster, (*items, *requests))
    needs = (
        *permissions.of_record(home),
        *permissions.of_objects(
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
        *permissions.of_members(vdus),
        *permissions.of_requests([item.ref for item in requests], resources),
        *permissions.of_claims(claiming),
    )
    # Who may make a namespace often gets rights in it when it is there.
    brought = {
        item.ref.name
        for item in items
        if item.ref.group_kind == placement.NAMESPACE
    }
    try:
        lacking = _asked(cluster, needs)
    except (
        errors.Forbidden,
        errors.DependencyMissing,
        errors.Rejected,
    ) as error:
        LOG.info("rights were not checked: %s", error)
        return ()
    must = [
        need
        for need in lacking
        if need.must and need.right.namespace not in brought
    ]
    if others := [need.right for need in lacking if need not in must]:
        LOG.info(
            "%s: not allowed, and perhaps not needed: %s",
            cluster.server,
            "; ".join(permissions.format_permissions(others)),
        )
    return tuple(must)


def _resources(
    cluster: Cluster, items: Iterable[PlacedManifest]
) -> Mapping[GroupKind, Resource]:
    """How each kind is served, or will be by a definition of the package."""
    items = tuple(items)
    found = {
        kind: Resource(
            kind.group,
            "",
            kind.kind,
            str(objects.field(item.manifest, ("spec", "names", "plural"), "")),
            brought.namespaced,
            subresources=brought.subresources,
        )
        for item in items
        for kind, brought in placement.packaged_kinds([item.manifest]).items()
    }
    for kind in {item.ref.group_kind for item in items}:
        with contextlib.suppress(errors.KindNotServed):
            found[kind] = cluster.resource(kind)
    return found


def _asked(
    cluster: Cluster, needs: Sequence[PermissionNeed]
) -> tuple[PermissionNeed, ...]:
    """Return those of the needs that the server does not allow.

    One request finds a user who may do everything; for any other user the
    rules in each namespace answer most of it, and only the rest is requested.
    """
    if cluster.can_i(permissions.EVERYTHING):
        return ()
    namespaces = sorted({need.right.namespace for need in needs} - {""})
    rules = dict(
        results_or_raise(cluster.map_parallel(cluster.list_rules, namespaces))
    )
    open_ = [
        need
        for need in needs
        if not permissions.is_allowed_by(
            need.right, rules.get(need.right.namespace, ())
        )
    ]
    singly = dict.fromkeys(need.right for need in open_)
    allowed = dict(
        results_or_raise(cluster.map_parallel(cluster.can_i, singly))
    )
    return tuple(need for need in open_ if not allowed[need.right])
