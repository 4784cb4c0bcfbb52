"""Hold the objects of an instance against its manifests, without a write."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import conflict_strategy
from tacker_k8s_cr.plan import diff
from tacker_k8s_cr.plan import drift
from tacker_k8s_cr.plan.drift import Drift
from tacker_k8s_cr.plan.drift import DriftRow
from tacker_k8s_cr.plan.placement import PlacedManifest
from tacker_k8s_cr.plan.steps import LiveObject

READER_SUFFIX = "-look"
"""Suffix of the name of a field manager that never owns a field."""


def detect_metadata_drift(
    cluster: Cluster, owned: Mapping[ObjectRef, str], instance: str
) -> dict[ObjectRef, tuple[DriftRow, Manifest | None]]:
    """Return the drift that metadata shows, with the live objects.

    Raises an error if the server cannot be read at all; an object that
    cannot be read is reported as unknown.
    """
    rows: dict[ObjectRef, tuple[DriftRow, Manifest | None]] = {}
    for ref, obj in cluster.map_parallel(cluster.get, owned):
        if isinstance(obj, errors.Unreachable | errors.Unauthenticated):
            raise obj
        uid = owned[ref]
        if isinstance(obj, Error):
            why = obj.sentence().removeprefix(f"{ref}: ")
            rows[ref] = (DriftRow(ref, uid, (Drift.UNKNOWN,), why), None)
        else:
            row = drift.metadata_drift(ref, uid, instance, obj)
            rows[ref] = (row, obj)
    return {ref: rows[ref] for ref in owned}


def detect_field_drift(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    instance: str,
    live: Mapping[ObjectRef, LiveObject],
    objs: Mapping[ObjectRef, Manifest],
) -> dict[ObjectRef, tuple[diff.Difference, ...] | Error]:
    """Return by object what applying its manifest again would change.

    The server determines this by a dry run, so that defaults, units and the
    order of keyed lists are not drift.

    :param live: with the paths of replica counts that are sent unchanged.
    :param objs: the objects as they are.
    """

    def compare(item: PlacedManifest) -> tuple[diff.Difference, ...]:
        uid = live[item.ref].uid
        strategy = conflict_strategy.strategy_for(
            item.manifest, conflict_strategy.FORCE
        )
        predicted = conflict_strategy.apply_with_strategy(
            lambda manifest, force: (
                cluster.apply(
                    manifest,
                    objects.MANAGER + instance,
                    uid=uid,
                    force=force,
                    dry_run=True,
                ).obj
            ),
            item.manifest,
            conflict_strategy.FORCE
            if strategy == conflict_strategy.FAIL
            else strategy,
            ".".join(live[item.ref].replicas_path),
        )
        obj = _convert_to_version_of(
            cluster, objs[item.ref], item.manifest, instance
        )
        return drift.authored_only(item.manifest, diff.diff(obj, predicted))

    return {
        item.ref: result
        for item, result in cluster.map_parallel(compare, items)
    }


def _convert_to_version_of(
    cluster: Cluster, obj: Manifest, manifest: Manifest, instance: str
) -> Manifest:
    """Return the object at the manifest's API version, to compare fields.

    The server converts it in the dry run of an apply that sets nothing.
    """
    if obj["apiVersion"] == manifest["apiVersion"]:
        return obj
    metadata = {
        key: value
        for key, value in manifest["metadata"].items()
        if key in ("name", "namespace")
    }
    bare = {
        "apiVersion": manifest["apiVersion"],
        "kind": manifest["kind"],
        "metadata": metadata,
    }
    return cluster.apply(
        bare,
        objects.MANAGER + instance + READER_SUFFIX,
        uid=objects.uid(obj),
        dry_run=True,
    ).obj


def drifted_only(
    rows_by_ref: Mapping[ObjectRef, DriftRow],
    fields: Mapping[ObjectRef, tuple[diff.Difference, ...] | Error],
) -> tuple[DriftRow, ...]:
    """Return only the objects that have drifted, with their fields."""
    rows = []
    for ref, row in rows_by_ref.items():
        outcome = fields.get(ref, ())
        if isinstance(outcome, errors.Conflict):
            # It was deleted or recreated since it was read.
            row = _add_drift(row, Drift.MISSING, "it was deleted just now")
        elif isinstance(outcome, Error):
            why = outcome.sentence().removeprefix(f"{ref}: ")
            row = _add_drift(row, Drift.UNKNOWN, f"not compared: {why}")
        else:
            row = row.with_differences(outcome)
        rows.append(row)
    return tuple(row for row in rows if row.drifts)


def _add_drift(row: DriftRow, drift_type: Drift, why: str) -> DriftRow:
    reason = "; ".join(_said(row.reason, why))
    return dataclasses.replace(
        row, drifts=(*row.drifts, drift_type), reason=reason
    )


def _said(*texts: str) -> Iterable[str]:
    return filter(None, texts)
