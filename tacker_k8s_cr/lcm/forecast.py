"""Forecast a change of package without making it."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.kinds.capi import cluster_class
from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.preparation.prepare import Prepared
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
from tacker_k8s_cr.plan.plan import Delete
from tacker_k8s_cr.plan.plan import Plan


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
    whole: bool,
) -> Forecast:
    """Return what a checked and planned change would do.

    :param whole: compare every object, instead of only those whose change may
        replace Machines or may be irreversible.
    """
    templates = _templates(before, ready)
    rows = {
        row.ref: row
        for row in (
            *_applied(op, ready, templates, whole=whole),
            *_gone(op, ready, planned, templates),
        )
    }
    rows |= _affected(op, ready, rows)
    if whole:
        for ref in ready.owners.shared:
            rows[ref] = ForecastRow(
                ref, ForecastAction.SHARE, "others have it just so"
            )
        for ref, why in planned.retained.items():
            rows[ref] = ForecastRow(ref, ForecastAction.KEEP, why)
    return Forecast(
        op.instance, op.namespace, tuple(rows[ref] for ref in rows), whole
    )


@dataclasses.dataclass(frozen=True)
class _Template:
    """A template that changed: its names, and how."""

    former: ObjectRef
    now: ObjectRef
    differences: tuple[Difference, ...]


def _templates(before: Inventory, ready: Prepared) -> list[_Template]:
    """Templates that get another name by the change."""
    last = {ObjectRef.of(m): m for m in before.manifests}
    found = []
    for manifest in ready.authored:
        ref = ObjectRef.of(manifest)
        old = before.live_names.get(ref, ref.name)
        new = ready.live_names.get(ref, ref.name)
        if ref in last and old != new:
            found.append(
                _Template(
                    ref._replace(name=old),
                    ref._replace(name=new),
                    diff.diff(last[ref], manifest),
                )
            )
    return found


def _applied(
    op: Session,
    ready: Prepared,
    templates: Collection[_Template],
    *,
    whole: bool,
) -> Iterator[ForecastRow]:
    by_name = {found.now: found for found in templates}
    live = ready.owners.live
    looked = [
        item
        for item in ready.items
        if item.ref in live
        and item.ref not in ready.recreated
        and not live[item.ref].unchanged
        and (whole or may_roll_or_lose(item.ref))
    ]
    at = {item.ref: _version(item) for item in looked}
    views = dict(
        results_or_raise(
            op.cluster.map_parallel(
                lambda ref: op.cluster.get(ref, at[ref]), at
            )
        )
    )
    names = {found.now.name: found.differences for found in templates}
    for item in ready.items:
        ref = item.ref
        if ref in ready.recreated:
            final = (
                irreversible.RECREATED,
                *irreversible.irreversible_delete(ref, op.registry),
            )
            why = ready.recreated[ref]
            yield ForecastRow(
                ref, ForecastAction.RECREATE, why, irreversible=final
            )
        elif ref not in live:
            if template := by_name.get(ref):
                why = f"in the place of {template.former}"
                yield ForecastRow(
                    ref, ForecastAction.CREATE, why, template.differences
                )
            elif whole:
                yield ForecastRow(ref, ForecastAction.CREATE)
        elif live[ref].unchanged:
            if whole:
                yield ForecastRow(ref, ForecastAction.UNCHANGED)
        elif ref in views:
            yield _updated(ready, item, views[ref], names)


def _version(item: PlacedManifest) -> str:
    """In which its manifest is written, and the object is to be seen."""
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
        return ForecastRow(ref, ForecastAction.CREATE, "it has just gone")
    would = ready.would.get(ref)
    why = ""
    if would is None:
        # Without a dry run only the fields of the manifest can be compared.
        would = diff.merge_locally(live, item.manifest)
        why = "the server could not check it yet" * (ref in ready.not_yet)
    found = diff.diff(live, would)
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
            rollouts.machines(live),
            templates,
            live,
            would,
        ),
        irreversible.irreversible_update(live, would),
    )


def _gone(
    op: Session,
    ready: Prepared,
    planned: Plan,
    templates: Collection[_Template],
) -> Iterator[ForecastRow]:
    replaced = {found.former: found.now for found in templates}
    for stage in planned.stages:
        for step in stage.steps:
            ref = step.ref
            if not isinstance(step, Delete) or ref in ready.recreated:
                continue
            why = ""
            if now := replaced.get(ref):
                why = f"{now} takes its place, when no machine needs it"
            final = irreversible.irreversible_delete(ref, op.registry)
            yield ForecastRow(
                ref, ForecastAction.PRUNE, why, irreversible=final
            )


def _affected(
    op: Session, ready: Prepared, rows: Mapping[ObjectRef, ForecastRow]
) -> dict[ObjectRef, ForecastRow]:
    """Clusters whose class changes, those of other instances, too."""
    changed = {
        ref: row.rollout
        for ref, row in rows.items()
        if ref.group_kind == rollouts.CLASS and row.rollout
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
        class_ref = cluster_class.of(cluster)
        does = changed.get(class_ref) if class_ref else None
        if does is None:
            continue
        row = rows.get(ref) or ForecastRow(
            ref, ForecastAction.ROLLS_MACHINES, "its class changes"
        )
        own = row.rollout
        found[ref] = dataclasses.replace(
            row,
            rollout=dataclasses.replace(
                does,
                machines=rollouts.machines(cluster),
                causes=(*(own.causes if own else ()), *does.causes),
                parts=tuple(
                    dict.fromkeys((*(own.parts if own else ()), *does.parts))
                ),
                certain=does.certain or bool(own and own.certain),
            ),
        )
    return found
