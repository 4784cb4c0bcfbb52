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
from tacker_k8s_cr.plan.plan import LiveObject

LOOKS = "-look"
"""Added to the name of a field manager that owns nothing, and never will."""


def detect_metadata_drift(
    cluster: Cluster, owned: Mapping[ObjectRef, str], instance: str
) -> dict[ObjectRef, tuple[DriftRow, Manifest | None]]:
    """What the objects themselves tell, and how they are.

    Raises what ends it all: that nothing can be read. One that cannot is
    told as that.
    """
    told: dict[ObjectRef, tuple[DriftRow, Manifest | None]] = {}
    for ref, obj in cluster.map_parallel(cluster.get, owned):
        if isinstance(obj, errors.Unreachable | errors.Unauthenticated):
            raise obj
        uid = owned[ref]
        if isinstance(obj, Error):
            why = obj.sentence().removeprefix(f"{ref}: ")
            told[ref] = (DriftRow(ref, uid, (Drift.UNKNOWN,), why), None)
        else:
            seen = drift.metadata_drift(ref, uid, instance, obj)
            told[ref] = (seen, obj)
    return {ref: told[ref] for ref in owned}


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

    def one(item: PlacedManifest) -> tuple[diff.Difference, ...]:
        uid = live[item.ref].uid
        way = conflict_strategy.strategy_for(
            item.manifest, conflict_strategy.FORCE
        )
        would = conflict_strategy.apply_with_strategy(
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
            conflict_strategy.FORCE if way == conflict_strategy.FAIL else way,
            ".".join(live[item.ref].replicas_path),
        )
        obj = _at_version(cluster, objs[item.ref], item.manifest, instance)
        return drift.authored_only(item.manifest, diff.diff(obj, would))

    return {
        item.ref: result for item, result in cluster.map_parallel(one, items)
    }


def _at_version(
    cluster: Cluster, obj: Manifest, manifest: Manifest, instance: str
) -> Manifest:
    """The object at the manifest's version, in which fields compare.

    A dry run of an apply that sets nothing shows it so.
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
        objects.MANAGER + instance + LOOKS,
        uid=objects.uid(obj),
        dry_run=True,
    ).obj


def drifted_only(
    seen: Mapping[ObjectRef, DriftRow],
    fields: Mapping[ObjectRef, tuple[diff.Difference, ...] | Error],
) -> tuple[DriftRow, ...]:
    """Only what has drifted, with its fields."""
    rows = []
    for ref, row in seen.items():
        outcome = fields.get(ref, ())
        if isinstance(outcome, errors.Conflict):
            # It went, or another came, since we looked.
            row = _also(row, Drift.MISSING, "it went just now")
        elif isinstance(outcome, Error):
            why = outcome.sentence().removeprefix(f"{ref}: ")
            row = _also(row, Drift.UNKNOWN, f"not compared: {why}")
        else:
            row = row.with_differences(outcome)
        rows.append(row)
    return tuple(row for row in rows if row.drifts)


def _also(row: DriftRow, way: Drift, why: str) -> DriftRow:
    reason = "; ".join(_said(row.reason, why))
    return dataclasses.replace(row, drifts=(*row.drifts, way), reason=reason)


def _said(*texts: str) -> Iterable[str]:
    return filter(None, texts)
