"""Remove the fields of manifests that the server does not know."""

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

_ATTEMPTS = 5
"""Attempts for one object: a removed field may have hidden another error."""

_DEFAULT = "default"
"""Namespace in which objects are checked if their own does not exist yet."""


def remove_unknown_fields(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    manager: str,
    *,
    unserved: Collection[GroupKind] = (),
    missing_namespaces: Collection[str] = (),
) -> tuple[tuple[PlacedManifest, ...], tuple[str, ...]]:
    """Return the manifests without unknown fields, and a warning for each.

    Sends at least one request for each object. Other errors are left to the
    validation of the whole package.

    :param unserved: kinds that the package defines and that are not served
        yet.
    :param missing_namespaces: namespaces that the package creates.
    """
    cleaned_items = {item.ref: item for item in items}
    warnings_by_ref: dict[ObjectRef, tuple[str, ...]] = {}

    def clean(item: PlacedManifest) -> tuple[PlacedManifest, tuple[str, ...]]:
        if item.ref.group_kind in unserved:
            return item, ()
        return _remove_unknown_fields(
            cluster, item, manager, item.ref.namespace in missing_namespaces
        )

    for item, (cleaned, item_warnings) in results_or_raise(
        cluster.map_parallel(clean, items)
    ):
        cleaned_items[item.ref], warnings_by_ref[item.ref] = (
            cleaned,
            item_warnings,
        )
    warnings = (
        f"{item.where}: {item.ref}: {line}"
        for item in items
        for line in warnings_by_ref[item.ref]
    )
    return tuple(cleaned_items.values()), tuple(warnings)


def _remove_unknown_fields(
    cluster: Cluster,
    item: PlacedManifest,
    manager: str,
    use_default_namespace: bool,
) -> tuple[PlacedManifest, tuple[str, ...]]:
    manifest = item.manifest
    warnings: tuple[str, ...] = ()
    for _ in range(_ATTEMPTS):
        try:
            _dry_run(cluster, manifest, manager, use_default_namespace)
        except errors.Rejected as error:
            manifest, more = unknown_fields.without_fields(
                manifest, error.fields
            )
            warnings = (*warnings, *more)
            if more:
                continue
        except errors.Error:
            pass
        break
    if not warnings:
        return item, ()
    return dataclasses.replace(item, manifest=manifest), warnings


def _dry_run(
    cluster: Cluster,
    manifest: Manifest,
    manager: str,
    use_default_namespace: bool,
) -> None:
    if use_default_namespace:
        path = ("metadata", "namespace")
        manifest = placement.set_field(manifest, path, _DEFAULT)
    cluster.apply(
        manifest, objects.MANAGER + manager, force=True, dry_run=True
    )
