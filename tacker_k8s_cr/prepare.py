"""Look at a package as a whole, in the order in which errors help most."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import dataclasses

from tacker_k8s_cr import check
from tacker_k8s_cr import errors
from tacker_k8s_cr import owners
from tacker_k8s_cr import placing
from tacker_k8s_cr import replicas
from tacker_k8s_cr import rotation
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.kinds import custom
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.operation import Options
from tacker_k8s_cr.owners import Owners
from tacker_k8s_cr.package import numbers
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.placing import Placed


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A package that may be written, and all that was found out about it.

    :param items: what is to be applied, as it will be.
    :param authored: the manifests as the package names them, placed.
    :param not_yet: objects that the server could not check yet.
    :param registry: with kinds that have no status sub-resource.
    """

    items: tuple[Placed, ...]
    authored: tuple[Manifest, ...]
    owners: Owners
    not_yet: frozenset[ObjectRef]
    registry: Registry
    vdus: Mapping[str, ObjectRef]
    scale_levels: Mapping[str, int]
    live_names: Mapping[ObjectRef, str]


def prepared(
    cluster: Cluster,
    package: Package,
    before: Inventory,
    registry: Registry,
    options: Options,
    *,
    level: str = "",
    fixed: bool = False,
    scale_levels: Mapping[str, int] | None = None,
    vdu_mapping: Mapping[str, str] | None = None,
) -> Prepared:
    """Check all of a package; nothing is written.

    :param before: the inventory so far, or an empty one.
    :param fixed: the levels settle the numbers of VDUs, whatever objects
        that exist have; else those of the objects stay.
    :param level: instantiation level of the VNFD, in the place of which
        ``scale_levels`` may name the level of each aspect.
    :param vdu_mapping: by VDU id, the object that bears its number.
    """
    check.version(cluster)
    found = check.kinds(cluster, package.documents)
    check.followable(package.documents)
    registry = _with_plain(registry, found.subresources).extended(
        check.claims(cluster, package.documents)
    )
    items = placing.placed(
        package.documents, found.namespaced, before.instance, before.namespace
    )
    check.reserved(items, before.instance, before.namespace)
    absent = check.namespaces(cluster, items)
    levels: Mapping[str, int] = dict(scale_levels or {})
    vdus: Mapping[str, ObjectRef] = {}
    if package.vnfd:
        if levels:
            asked = numbers.replicas(package.vnfd, levels)
        else:
            levels, asked = numbers.at_level(package.vnfd, level)
        vdus = replicas.vdus(
            package, items, registry, found.subresources, vdu_mapping
        )
        items = replicas.numbered(items, registry, vdus, asked)
    authored = tuple(item.manifest for item in items)
    rotated = rotation.rotated(items, before)
    theirs = owners.found(
        cluster,
        rotated.items,
        before.instance,
        before.namespace,
        before.owned,
        found.later,
        options.adopt,
    )
    items = tuple(
        item for item in rotated.items if item.ref not in theirs.shared
    )
    settled = set(vdus.values()) if fixed else set()
    carried = replicas.carried(
        cluster,
        [item for item in items if item.ref not in settled],
        registry,
        theirs.live,
        found.subresources,
    )
    by_ref = {item.ref: item for item in carried}
    items = tuple(by_ref.get(item.ref, item) for item in items)
    not_yet: frozenset[ObjectRef] = frozenset()
    if options.dry_run:
        not_yet = check.dry_run(
            cluster,
            [item for item in items if item.ref not in theirs.going],
            before.instance,
            theirs.live,
            later=found.not_yet,
            absent=absent,
            force=options.conflict == "take",
        )
    return Prepared(
        items,
        authored,
        theirs,
        not_yet,
        registry,
        vdus,
        levels,
        rotated.live_names,
    )


def again(
    cluster: Cluster, before: Prepared, instance: str, force: bool
) -> None:
    """Repeat the dry run of what could not be checked before.

    What is still not possible is left to the apply, which tries again.
    """
    check.dry_run(
        cluster,
        [item for item in before.items if item.ref in before.not_yet],
        instance,
        before.owners.live,
        later=(),
        absent=(),
        force=force,
    )


def known(
    cluster: Cluster, registry: Registry, inventory: Inventory
) -> Registry:
    """The registry with those of an instance's kinds that have no status."""
    found = {}
    for kind in {ref.group_kind for ref in inventory.owned}:
        with contextlib.suppress(errors.KindUnknown):
            found[kind] = cluster.resource(kind).subresources
    return _with_plain(registry, found)


def _with_plain(
    registry: Registry, subresources: Mapping[GroupKind, frozenset[str]]
) -> Registry:
    return registry.extended(
        {
            kind: custom.STORED
            for kind, found in subresources.items()
            if "status" not in found and registry.known(kind) is None
        }
    )
