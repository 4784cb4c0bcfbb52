"""Look at a package as a whole, in the order in which errors help most."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import secrets
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr.applying import check
from tacker_k8s_cr.applying import lenient
from tacker_k8s_cr.applying import paths
from tacker_k8s_cr.applying import replicas
from tacker_k8s_cr.applying.owners import Owners
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.capi import clusters
from tacker_k8s_cr.lcm import against
from tacker_k8s_cr.lcm import preflight
from tacker_k8s_cr.lcm.size import Size
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.package import numbers
from tacker_k8s_cr.package import validation
from tacker_k8s_cr.package.model import Document
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.package.model import Vnfd
from tacker_k8s_cr.planning import barriers
from tacker_k8s_cr.planning import naming
from tacker_k8s_cr.planning import order as orders
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.planning import rotation
from tacker_k8s_cr.planning.order import Order
from tacker_k8s_cr.planning.placing import Placed
from tacker_k8s_cr.policy import DEFAULT
from tacker_k8s_cr.policy import Policy
from tacker_k8s_cr.terminating import retention


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A package that may be written, and all that was found out about it.

    :param items: what is to be applied, as it will be.
    :param authored: the manifests as the package names them, placed.
    :param not_yet: objects that the server could not check yet.
    :param registry: with kinds that have no status sub-resource, and what
        the request says on when objects are current.
    :param refused: what was left out, where that was asked for: why.
    :param order: in which the objects come.
    :param expected: kinds that are not served yet, and nobody describes.
    :param recreated: what has to go to be made again: why.
    :param would: objects as they would be, of those that were asked for.
    :param vnfd: the descriptor, with the numbers that its steps count from.
    :param warnings: what the author of the package should know.
    :param generated: names that were chosen for manifests with a prefix.
    :param requests: manifests that the server answers and does not keep.
    """

    items: tuple[Placed, ...]
    authored: tuple[Manifest, ...]
    owners: Owners
    not_yet: frozenset[ObjectRef]
    registry: Registry
    vdus: Mapping[str, ObjectRef]
    scale_levels: Mapping[str, int]
    live_names: Mapping[ObjectRef, str]
    refused: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)
    order: Order = orders.NONE
    expected: frozenset[GroupKind] = frozenset()
    recreated: Mapping[ObjectRef, str] = dataclasses.field(
        default_factory=dict
    )
    would: Mapping[ObjectRef, Manifest] = dataclasses.field(
        default_factory=dict
    )
    vnfd: Vnfd | None = None
    warnings: tuple[str, ...] = ()
    generated: Mapping[str, str] = dataclasses.field(default_factory=dict)
    requests: tuple[Placed, ...] = ()


SAME = Size()
"""Of a package without a descriptor: every object has its own number."""


def prepared(
    cluster: Cluster,
    package: Package,
    before: Inventory,
    registry: Registry,
    options: Options,
    *,
    policy: Policy = DEFAULT,
    size: Size = SAME,
    fixed: bool = False,
    vdu_mapping: Mapping[str, str] | None = None,
    keep: Callable[[ObjectRef], bool] = lambda ref: False,
) -> Prepared:
    """Check all of a package; nothing is written.

    :param before: the inventory so far, or an empty one.
    :param size: the scale levels, and the numbers of VDUs.
    :param fixed: the size settles the numbers of VDUs, whatever objects
        that exist have; else those of the objects stay.
    :param vdu_mapping: by VDU id, the object that it is.
    :param keep: of which objects it is of interest how they would be.
    """
    if not before.owned:  # else it was looked at when they were made
        check.version(cluster)
    documents, generated = naming.named(
        package.documents, _generated(before), _suffix
    )
    found, registry = _kinds(cluster, documents, registry, policy)
    check.names(documents, found)
    answered = [
        document
        for document in documents
        if GroupKind.of(document.manifest) in found.create_only
    ]
    requests = placing.addressed(
        answered, found.namespaced, before.namespace, policy.namespaces
    )
    items = placing.placed(
        [document for document in documents if document not in answered],
        found.namespaced,
        before.instance,
        before.namespace,
        policy.namespaces,
        policy.labels,
    )
    check.reserved(items, before.instance, before.home)
    vdus: Mapping[str, ObjectRef] = {}
    warnings = package.warnings
    if validation.is_lenient(options.field_validation):
        items, misfits = lenient.fitted(
            cluster,
            items,
            before.instance,
            later=found.not_yet,
            absent=check.namespaces(cluster, items, before.namespace),
        )
        warnings += misfits
    vnfd = package.vnfd
    if vnfd:
        vdus = replicas.vdus(
            package, items, registry, found.subresources, vdu_mapping
        )
        warnings += tuple(_without_object(vnfd, vdus))
        sized = replicas.scale_targets(vdus, registry, found.subresources)
        vnfd = _based(vnfd, size, sized, items, registry)
        wanted = {
            ref: size.numbers[vdu]
            for vdu, ref in sized.items()
            if vdu in size.numbers
        }
        items = replicas.numbered(items, registry, wanted)
    rotated = rotation.rotated(items, before)
    ready = Prepared(
        rotated.items,
        tuple(item.manifest for item in items),
        Owners({}, frozenset()),
        frozenset(),
        registry,
        vdus,
        size.levels,
        rotated.live_names,
        order=barriers.of(items, registry, rotated.live_names),
        expected=found.expected,
        vnfd=vnfd,
        warnings=warnings,
        generated=generated,
        requests=requests,
    )
    settled = frozenset(vdus.values()) if fixed else frozenset()
    with _located(ready.items):
        return _against(
            cluster,
            ready,
            before,
            found,
            options,
            claiming=_claiming(ready.items, policy, options),
            settled=settled,
            keep=keep,
        )


@contextlib.contextmanager
def _located(items: Iterable[Placed]) -> Iterator[None]:
    """Give an error the documents of the objects that it is about."""
    try:
        yield
    except errors.Error as error:
        error.places = {item.ref: item.where for item in items}
        raise


def _generated(before: Inventory) -> dict[str, str]:
    """Names that the instance has given, before its last change too."""
    former = before.before.generated if before.before else {}
    return {**former, **before.generated}


def _suffix() -> str:
    """The end of a name, as random as Kubernetes' own."""
    letters = (secrets.choice(naming.LETTERS) for _ in range(naming.RANDOM))
    return "".join(letters)


def _without_object(vnfd: Vnfd, vdus: Collection[str]) -> Iterator[str]:
    """A VDU need not be among the selected manifests; a typo may be why."""
    for vdu in vnfd.vdus.values():
        if vdu.id not in vdus:
            yield (
                f"VDU {vdu.id}: no workload of the selected manifests is "
                f"named {vdu.name}; the VDU has no VNFC and is not scaled"
            )


def _based(
    vnfd: Vnfd,
    size: Size,
    targets: Mapping[str, ObjectRef],
    items: Sequence[Placed],
    registry: Registry,
) -> Vnfd:
    """The descriptor, counting from the numbers that VDUs begin with.

    Those of which the size says nothing begin with what manifests say.
    """
    scaled = {vdu for aspect in vnfd.aspects.values() for vdu in aspect.steps}
    silent = {
        vdu: ref
        for vdu, ref in targets.items()
        if vdu in scaled and vdu not in size.numbers
    }
    said = replicas.in_manifests(items, registry, silent.values())
    begin = {vdu: said[ref] for vdu, ref in silent.items() if ref in said}
    return numbers.based(vnfd, size.levels, {**begin, **size.numbers})


def recorded(
    cluster: Cluster,
    wanted: Inventory,
    now: Inventory,
    registry: Registry,
    options: Options,
    *,
    lenient: bool = False,
    recreate: Collection[ObjectRef] = (),
    only: Collection[ObjectRef] | None = None,
) -> Prepared:
    """Check what an instance applied, now or before; nothing is written.

    Objects that are there keep their numbers. Others get those that the
    instance last asked for. A Job that has done its work and went is not
    made again: it would do it again.

    :param lenient: leave out what cannot be, rather than refuse it all.
    :param recreate: what may be made again where it cannot be changed.
    :param only: of which objects; None for all. Of some there is no order.
    """
    where = f"the record of {now.instance}"
    documents = tuple(
        Document(manifest, where)
        for manifest in wanted.manifests
        if only is None or ObjectRef.of(manifest) in only
    )
    found, registry = _kinds(cluster, documents, registry, wanted.policy)
    items = tuple(
        Placed(ObjectRef.of(document.manifest), document.manifest, where)
        for document in documents
    )
    items = replicas.numbered(items, registry, replicas.recorded(wanted))
    ready = Prepared(
        rotation.named(items, wanted.live_names),
        wanted.manifests,
        Owners({}, frozenset()),
        frozenset(),
        registry,
        wanted.vdus,
        wanted.scale_levels,
        wanted.live_names,
        order=barriers.of(items, registry, wanted.live_names)
        if only is None
        else orders.NONE,
        expected=found.expected,
        vnfd=wanted.vnfd,
        generated=wanted.generated,
    )
    ready = _against(
        cluster,
        ready,
        now,
        found,
        options,
        claiming=_claiming(ready.items, wanted.policy, options),
        lenient=lenient,
        recreate=recreate,
    )
    done = {
        item.ref
        for item in ready.items
        if registry[item.ref.group_kind].fleeting
        and item.ref in wanted.owned
        and item.ref not in ready.owners.live
    }
    return dataclasses.replace(
        ready, items=tuple(i for i in ready.items if i.ref not in done)
    )


def _kinds(
    cluster: Cluster,
    documents: Sequence[Document],
    registry: Registry,
    policy: Policy,
) -> tuple[check.Kinds, Registry]:
    """How the kinds of a package are served, and how they are judged."""
    expected = check.expected(documents, policy)
    found = check.kinds(cluster, documents, expected)
    check.followable(documents)
    manifests = [document.manifest for document in documents]
    known = check.judged(registry, found.subresources)
    known = paths.known(cluster, known, found.subresources, manifests)
    known = known.extended(check.claims(cluster, manifests, registry))
    known = _workers(known, manifests)
    return found, policy.judging(known)


def _claiming(
    items: Iterable[Placed], policy: Policy, options: Options
) -> frozenset[ObjectRef]:
    """Return the StatefulSets whose claims are deleted at the end."""
    rules = (
        claims.claim_rule(
            item.manifest, claims.manifest_retention(item.manifest)
        )
        for item in items
    )
    resolved = retention.of_rollback(policy, options).resolve(
        filter(None, rules)
    )
    return frozenset(
        one.stateful_set for one in resolved if one.retention == claims.DELETE
    )


def _workers(registry: Registry, manifests: Iterable[Manifest]) -> Registry:
    """With what a package says on the workers of its Clusters."""
    if registry[clusters.CLUSTER].name:  # a third party judges them
        return registry
    return registry.extended(clusters.knowing(manifests))


def _against(
    cluster: Cluster,
    ready: Prepared,
    before: Inventory,
    found: check.Kinds,
    options: Options,
    claiming: Collection[ObjectRef],
    settled: Collection[ObjectRef] = (),
    **how: Any,
) -> Prepared:
    """The same, held against the rights that we have and what is there."""
    with preflight.checked(
        cluster,
        ready.items,
        before.home,
        vdus=tuple(ready.vdus.values()),
        requests=ready.requests,
        claiming=claiming,
        wanted=options.check_rights,
    ) as rights:
        met = against.met(
            cluster,
            ready.items,
            before,
            ready.registry,
            ready.order,
            found,
            options,
            settled,
            **how,
        )
        rights.shared = met.owners.shared
    return dataclasses.replace(
        ready,
        items=met.items,
        owners=met.owners,
        not_yet=met.not_yet,
        refused=met.refused,
        order=met.order,
        recreated=met.recreated,
        would=met.would,
    )


def known(
    cluster: Cluster, registry: Registry, inventory: Inventory
) -> Registry:
    """The registry as an instance needs it.

    It has those of its kinds that have no status, and judges as the request
    said.
    """
    found = {}
    for kind in {ref.group_kind for ref in inventory.owned}:
        with contextlib.suppress(errors.KindUnknown):
            found[kind] = cluster.resource(kind).subresources
    registry = check.judged(registry, found)
    registry = paths.known(cluster, registry, found, inventory.manifests)
    registry = registry.extended(
        check.claims(cluster, inventory.manifests, registry)
    )
    registry = _workers(registry, inventory.manifests)
    return inventory.policy.judging(registry)
