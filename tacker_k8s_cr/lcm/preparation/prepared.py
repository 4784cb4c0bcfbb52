"""A checked package, and what its caller chose for it."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.policy import DEFAULT
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.lcm.preparation.existing_objects import ExistingObjects
from tacker_k8s_cr.lcm.preparation.scale_levels import Size
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.plan import order as orders
from tacker_k8s_cr.plan.order import Order
from tacker_k8s_cr.plan.placement import PlacedManifest


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A checked package, ready to be applied.

    :param items: what will be applied.
    :param authored: the manifests with names as in the package, placed.
    :param not_yet: objects that the server could not check yet.
    :param registry: with kinds that have no status sub-resource, and the
        readiness rules of the request.
    :param refused: what was left out, where that was requested: why.
    :param order: in which the objects are applied.
    :param expected: kinds that are not served yet, and without a definition.
    :param recreated: what has to be deleted and created again: why.
    :param predicted: the results of the dry run, for the requested objects.
    :param vnfd: the descriptor, with the counts that its steps start from.
    :param warnings: what the author of the package should know.
    :param generated: names that were chosen for manifests with a prefix.
    :param requests: manifests that the server answers and does not store.
    """

    items: tuple[PlacedManifest, ...]
    authored: tuple[Manifest, ...]
    owners: ExistingObjects
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
    predicted: Mapping[ObjectRef, Manifest] = dataclasses.field(
        default_factory=dict
    )
    vnfd: Vnfd | None = None
    warnings: tuple[str, ...] = ()
    generated: Mapping[str, str] = dataclasses.field(default_factory=dict)
    requests: tuple[PlacedManifest, ...] = ()


MANIFEST_SIZE = Size()
"""The size of a package without a descriptor: that of the manifests."""


@dataclasses.dataclass(frozen=True)
class PackageChoices:
    """What the caller chose for a package.

    :param size: the scale levels, and the replica counts of VDUs.
    :param sets_replicas: the size sets the replica counts of VDUs, whatever
        existing objects have; otherwise those of the objects are preserved.
    :param vdu_mapping: by VDU id, its object.
    """

    policy: Policy = DEFAULT
    size: Size = MANIFEST_SIZE
    sets_replicas: bool = False
    vdu_mapping: Mapping[str, str] | None = None
