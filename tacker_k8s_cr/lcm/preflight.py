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

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import rights
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import Resource
from tacker_k8s_cr.planning import authored
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.planning.placing import Placed
from tacker_k8s_cr.rights import Need

LOG = logging.getLogger(__name__)


@dataclasses.dataclass
class Found:
    """The rights that lack, and the objects that need none of ours."""

    server: str
    lacking: tuple[Need, ...]
    shared: frozenset[ObjectRef] = frozenset()

    def check(self) -> None:
        """Raise RightsLacking for what is needed all the same."""
        lacking = [
            need.right
            for need in self.lacking
            if not need.refs or need.refs - self.shared
        ]
        if lacking:
            raise errors.RightsLacking(self.server, rights.sentences(lacking))


@contextlib.contextmanager
def checked(
    cluster: Cluster,
    items: Sequence[Placed],
    home: str,
    *,
    vdus: Collection[ObjectRef] = (),
    requests: Sequence[Placed] = (),
    claiming: Collection[ObjectRef] = (),
    wanted: bool = True,
) -> Iterator[Found]:
    """Look at a package within this context, which writes nothing.

    Objects may turn out to be shared there: they are neither created nor
    deleted. An error about missing permissions precedes any other error.

    :param home: the namespace of the record.
    :param vdus: the objects of the VDUs.
    :param requests: objects that the server answers and does not store.
    :param claiming: StatefulSets whose claims are deleted at the end.
    :param wanted: whether to check at all.
    """
    lacking: tuple[Need, ...] = ()
    if wanted:
        lacking = _lacking(cluster, items, home, vdus, requests, claiming)
    found = Found(cluster.server, lacking)
    try:
        yield found
    except (errors.Forbidden, errors.Refused) as error:
        said = getattr(error, "refusals", (error,))
        if any(isinstance(one, errors.Forbidden) for one in said):
            found.check()
        raise
    found.check()


@contextlib.contextmanager
def reading(
    cluster: Cluster, home: str, *, wanted: bool = True
) -> Iterator[None]:
    """Read a record within this context, the first thing of all.

    If that is forbidden, all that lacks for the record is told at once.
    """
    try:
        yield
    except errors.Forbidden:
        if wanted:
            _refuse(cluster, rights.of_record(home))
        raise


def deleting(
    cluster: Cluster, refs: Collection[ObjectRef], *, wanted: bool = True
) -> None:
    """Raise RightsLacking for objects that the user may not delete."""
    if not refs or not wanted:
        return
    resources = {}
    for kind in {ref.group_kind for ref in refs}:
        with contextlib.suppress(errors.KindUnknown):
            resources[kind] = cluster.resource(kind)
    _refuse(cluster, rights.of_deletions(refs, resources))


def deleting_claims(
    cluster: Cluster, sets: Collection[ObjectRef], *, wanted: bool = True
) -> None:
    """Raise RightsLacking if the user cannot delete the claims of these.

    :param sets: StatefulSets.
    """
    if sets and wanted:
        _refuse(cluster, rights.of_claims(sets), RETAIN_CLAIMS)


RETAIN_CLAIMS = (
    "They are needed to delete the volume claims of StatefulSets. Nothing "
    "has been deleted. Grant them, or retain the claims with "
    "statefulset_claims: retain (--statefulset-claims retain)."
)


def _refuse(cluster: Cluster, needs: Sequence[Need], remedy: str = "") -> None:
    try:
        lacking = _asked(cluster, needs)
    except (errors.Forbidden, errors.NotYet, errors.Rejected) as error:
        LOG.info("rights were not checked: %s", error)
        return
    if lacking:
        raise errors.RightsLacking(
            cluster.server,
            rights.sentences(need.right for need in lacking),
            remedy,
        )


def of_record(cluster: Cluster, namespace: str) -> tuple[str, ...]:
    """What the user lacks for any instance with its record there."""
    needs = rights.of_record(namespace) + rights.of_explanations(namespace)
    lacking = _asked(cluster, needs)
    return rights.sentences(need.right for need in lacking)


def _lacking(
    cluster: Cluster,
    items: Sequence[Placed],
    home: str,
    vdus: Collection[ObjectRef],
    requests: Sequence[Placed],
    claiming: Collection[ObjectRef],
) -> tuple[Need, ...]:
    resources = _resources(cluster, (*items, *requests))
    needs = (
        *rights.of_record(home),
        *rights.of_objects(
            [item.ref for item in items],
            resources,
            placing.defines(item.manifest for item in items),
            [
                ref
                for ref in vdus
                if ref.group_kind in resources
                and "scale" in resources[ref.group_kind].subresources
            ],
        ),
        *rights.of_members(vdus),
        *rights.of_requests([item.ref for item in requests], resources),
        *rights.of_claims(claiming),
    )
    # Who may make a namespace often gets rights in it when it is there.
    brought = {
        item.ref.name
        for item in items
        if item.ref.group_kind == placing.NAMESPACE
    }
    try:
        lacking = _asked(cluster, needs)
    except (errors.Forbidden, errors.NotYet, errors.Rejected) as error:
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
            "; ".join(rights.sentences(others)),
        )
    return tuple(must)


def _resources(
    cluster: Cluster, items: Iterable[Placed]
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
        for kind, brought in placing.brought([item.manifest]).items()
    }
    for kind in {item.ref.group_kind for item in items}:
        with contextlib.suppress(errors.KindUnknown):
            found[kind] = cluster.resource(kind)
    return found


def _asked(cluster: Cluster, needs: Sequence[Need]) -> tuple[Need, ...]:
    """Those of the needs that the server does not allow.

    Who may do everything is asked for once; of others the rules in each
    namespace show most of it, and only what they do not is asked for.
    """
    if cluster.allowed(rights.EVERYTHING):
        return ()
    namespaces = sorted({need.right.namespace for need in needs} - {""})
    rules = dict(raised(cluster.each(cluster.rules, namespaces)))
    open_ = [
        need
        for need in needs
        if not rights.shown(need.right, rules.get(need.right.namespace, ()))
    ]
    singly = dict.fromkeys(need.right for need in open_)
    allowed = dict(raised(cluster.each(cluster.allowed, singly)))
    return tuple(need for need in open_ if not allowed[need.right])


def supported(inventory: Inventory, operation: str) -> None:
    """Raise NotSupported for what the package's author has excluded."""
    found = authored.supported(inventory)
    if found and operation not in found[1]:
        ref, names = found
        raise errors.NotSupported(
            operation, inventory.instance, sorted(names), ref
        )
