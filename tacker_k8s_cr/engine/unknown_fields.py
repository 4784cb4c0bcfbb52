"""Ask the server which fields of manifests it does not accept."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan import unknown_fields
from tacker_k8s_cr.plan.placement import PlacedManifest

_TRIES = 5
"""For one object: what is left out may have hidden another fault."""

_DEFAULT = "default"
"""Namespace in which objects are checked if their own does not exist yet."""


def fitted(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    manager: str,
    *,
    later: Collection[GroupKind] = (),
    absent: Collection[str] = (),
) -> tuple[tuple[PlacedManifest, ...], tuple[str, ...]]:
    """Return the manifests without such fields, and a warning for each.

    It costs a request for each object. Other faults are left to the check of
    the whole package.

    :param later: kinds that the package defines and that are not served yet.
    :param absent: namespaces that the package creates.
    """
    found = {item.ref: item for item in items}
    told: dict[ObjectRef, tuple[str, ...]] = {}

    def fit(item: PlacedManifest) -> tuple[PlacedManifest, tuple[str, ...]]:
        if item.ref.group_kind in later:
            return item, ()
        return _fitted(cluster, item, manager, item.ref.namespace in absent)

    for item, (fitting, said) in results_or_raise(
        cluster.map_parallel(fit, items)
    ):
        found[item.ref], told[item.ref] = fitting, said
    warnings = (
        f"{item.where}: {item.ref}: {line}"
        for item in items
        for line in told[item.ref]
    )
    return tuple(found.values()), tuple(warnings)


def _fitted(
    cluster: Cluster, item: PlacedManifest, manager: str, elsewhere: bool
) -> tuple[PlacedManifest, tuple[str, ...]]:
    manifest = item.manifest
    said: tuple[str, ...] = ()
    for _ in range(_TRIES):
        try:
            _try(cluster, manifest, manager, elsewhere)
        except errors.Rejected as error:
            manifest, more = unknown_fields.without_fields(
                manifest, error.fields
            )
            said = (*said, *more)
            if more:
                continue
        except errors.Error:
            pass
        break
    if not said:
        return item, ()
    return dataclasses.replace(item, manifest=manifest), said


def _try(
    cluster: Cluster, manifest: Manifest, manager: str, elsewhere: bool
) -> None:
    if elsewhere:
        where = ("metadata", "namespace")
        manifest = placement.set_field(manifest, where, _DEFAULT)
    cluster.apply(
        manifest, objects.MANAGER + manager, force=True, dry_run=True
    )
