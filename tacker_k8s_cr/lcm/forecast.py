"""Forecast a change of package without making it."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.kinds.capi import cluster_class
from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.preparation.prepared import Prepared
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import diff
from tacker_k8s_cr.plan import forecast
from tacker_k8s_cr.plan import irreversible
from tacker_k8s_cr.plan.diff import Difference
from tacker_k8s_cr.plan.forecast import Forecast
from tacker_k8s_cr.plan.forecast import ForecastAction
from tacker_k8s_cr.plan.forecast import ForecastRow
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.placement import PlacedManifest
from tacker_k8s_cr.plan.steps import Delete
from tacker_k8s_cr.plan.steps import Plan


def may_roll_or_lose(ref: ObjectRef) -> bool:
    """Return whether an update may replace Machines or be irreversible."""
    kind = ref.group_kind
    return rollouts.may_roll_machines(
        kind
    ) or irreversible.may_be_irreversible(kind)


def build_forecast(
    op: Session,
    before: Inventory,
    ready: Prepared,
    planned: Plan,
    *,
    complete: bool,
) -> Forecast:
    """Return what a checked and planned change would do.

    :param complete: compare every object, instead of only those whose change
        may replace Machines or may be irreversible.
    """
    templates = _templates(before, ready)
    rows = {
        row.ref: row
        for row in (
            *_applied(op, ready, templates, complete=complete),
            *_deleted(op, ready, planned, templates),
        )
    }
    rows |= _affected(op, ready, rows)
    if complete:
        for ref in ready.owners.shared:
            rows[ref] = ForecastRow(
                ref,
                ForecastAction.SHARE,
                "another owner has it with the same content",
            )
        for ref, why in planned.retained.items():
            rows[ref] = ForecastRow(ref, ForecastAction.KEEP, why)
    return Forecast(
        op.instance, op.namespace, tuple(rows[ref] for ref in rows), complete
    )


@dataclasses.dataclass(frozen=True)
class _ChangedTemplate:
    """A template that changed: its names and its differences."""

    former: ObjectRef
    new: ObjectRef
    differences: tuple[Difference, ...]


def _templates(before: Inventory, ready: Prepared) -> list[_ChangedTemplate]:
    """Return the templates that get a new name."""
    last = {ObjectRef.of(m): m for m in before.manifests}
    found = []
    for manifest in ready.authored:
        ref = ObjectRef.of(manifest)
        old = before.live_names.get(ref, ref.name)
        new = ready.live_names.get(ref, ref.name)
        if ref in last and old != new:
            found.append(
                _ChangedTemplate(
                    ref._replace(name=old),
                    ref._replace(name=new),
                    diff.diff(last[ref], manifest),
                )
            )
    return found


def _applied(
    op: Session,
    ready: Prepared,
    templates: Collection[_ChangedTemplate],
    *,
    complete: bool,
) -> Iterator[ForecastRow]:
    by_name = {found.new: found for found in templates}
    live = ready.owners.live
    compared = [
        item
        for item in ready.items
        if item.ref in live
        and item.ref not in ready.recreated
        and not live[item.ref].unchanged
        and (complete or may_roll_or_lose(item.ref))
    ]
    api_versions = {item.ref: _version(item) for item in compared}
    views = dict(
        results_or_raise(
            op.cluster.map_parallel(
                lambda ref: op.cluster.get(ref, api_versions[ref]),
                api_versions,
            )
        )
    )
    names = {found.new.name: found.differences for found in templates}
    for item in ready.items:
        ref = item.ref
        if ref in ready.recreated:
            effects = (
                irreversible.RECREATED,
                *irreversible.irreversible_delete(ref, op.registry),
            )
            why = ready.recreated[ref]
            yield ForecastRow(
                ref, ForecastAction.RECREATE, why, irreversible=effects
            )
        elif ref not in live:
            if template := by_name.get(ref):
                why = f"replaces {template.former}"
                yield ForecastRow(
                    ref, ForecastAction.CREATE, why, template.differences
                )
            elif complete:
                yield ForecastRow(ref, ForecastAction.CREATE)
        elif live[ref].unchanged:
            if complete:
                yield ForecastRow(ref, ForecastAction.UNCHANGED)
        elif ref in views:
            yield _updated(ready, item, views[ref], names)


def _version(item: PlacedManifest) -> str:
    """Return the API version of a manifest, in which to read the object."""
    _, version = objects.split_api_version(item.manifest["apiVersion"])
    return version


def _updated(
    ready: Prepared,
    item: PlacedManifest,
    live: Manifest | None,
    templates: Mapping[str, tuple[Difference, ...]],
) -> ForecastRow:
    ref = item.ref
    if live is None:
        return ForecastRow(
            ref, ForecastAction.CREATE, "it was deleted just now"
        )
    predicted = ready.predicted.get(ref)
    why = ""
    if predicted is None:
        # Without a dry run only the fields of the manifest can be compared.
        predicted = diff.merge_locally(live, item.manifest)
        why = "the server could not check it yet" * (ref in ready.not_yet)
    found = diff.diff(live, predicted)
    if not found:
        return ForecastRow(ref, ForecastAction.UNCHANGED, why)
    return ForecastRow(
        ref,
        ForecastAction.UPDATE,
        why,
        found,
        forecast.rollout(
            ref.group_kind,
            found,
            rollouts.machine_count(live),
            templates,
            live,
            predicted,
        ),
        irreversible.irreversible_update(live, predicted),
    )


def _deleted(
    op: Session,
    ready: Prepared,
    planned: Plan,
    templates: Collection[_ChangedTemplate],
) -> Iterator[ForecastRow]:
    replaced = {found.former: found.new for found in templates}
    for stage in planned.stages:
        for step in stage.steps:
            ref = step.ref
            if not isinstance(step, Delete) or ref in ready.recreated:
                continue
            why = ""
            if new := replaced.get(ref):
                why = f"{new} replaces it, once no Machine uses it"
            effects = irreversible.irreversible_delete(ref, op.registry)
            yield ForecastRow(
                ref, ForecastAction.PRUNE, why, irreversible=effects
            )


def _affected(
    op: Session, ready: Prepared, rows: Mapping[ObjectRef, ForecastRow]
) -> dict[ObjectRef, ForecastRow]:
    """Return Clusters whose class changes, including other instances'."""
    changed = {
        ref: row.rollout
        for ref, row in rows.items()
        if ref.group_kind == rollouts.CLUSTER_CLASS and row.rollout
    }
    if not changed:
        return {}
    found: dict[ObjectRef, ForecastRow] = {}
    try:
        clusters = list(op.cluster.list_objects(rollouts.CLUSTER))
    except (errors.Forbidden, errors.KindNotServed):
        clusters = [
            item.manifest
            for item in ready.items
            if item.ref.group_kind == rollouts.CLUSTER
        ]
    for cluster in clusters:
        ref = ObjectRef.of(cluster)
        class_ref = cluster_class.class_ref(cluster)
        rollout = changed.get(class_ref) if class_ref else None
        if rollout is None:
            continue
        row = rows.get(ref) or ForecastRow(
            ref, ForecastAction.ROLLS_MACHINES, "its class changes"
        )
        own_rollout = row.rollout
        found[ref] = dataclasses.replace(
            row,
            rollout=dataclasses.replace(
                rollout,
                machines=rollouts.machine_count(cluster),
                causes=(
                    *(own_rollout.causes if own_rollout else ()),
                    *rollout.causes,
                ),
                parts=tuple(
                    dict.fromkeys(
                        (
                            *(own_rollout.parts if own_rollout else ()),
                            *rollout.parts,
                        )
                    )
                ),
                certain=rollout.certain
                or bool(own_rollout and own_rollout.certain),
            ),
        )
    return found
