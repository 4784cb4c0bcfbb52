"""Look at a change of package, without doing it."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.kinds.capi import classes
from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.lcm.prepare import Prepared
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning import differences
from tacker_k8s_cr.planning import forecast
from tacker_k8s_cr.planning import oneway
from tacker_k8s_cr.planning.differences import Difference
from tacker_k8s_cr.planning.forecast import Fate
from tacker_k8s_cr.planning.forecast import Forecast
from tacker_k8s_cr.planning.forecast import Row
from tacker_k8s_cr.planning.placing import Placed
from tacker_k8s_cr.planning.plan import Delete
from tacker_k8s_cr.planning.plan import Plan


def matters(ref: ObjectRef) -> bool:
    """Whether its update may replace machines, or may be for good."""
    kind = ref.group_kind
    return rollouts.concerns(kind) or oneway.concerns(kind)


def forecasted(
    op: Operation,
    before: Inventory,
    ready: Prepared,
    planned: Plan,
    *,
    whole: bool,
) -> Forecast:
    """What a change that is checked and planned would do.

    :param whole: look at every object, rather than at those whose change
        may replace machines or may be for good.
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
            rows[ref] = Row(ref, Fate.SHARE, "others have it just so")
        for ref, why in planned.kept.items():
            rows[ref] = Row(ref, Fate.KEEP, why)
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
                    differences.between(last[ref], manifest),
                )
            )
    return found


def _applied(
    op: Operation,
    ready: Prepared,
    templates: Collection[_Template],
    *,
    whole: bool,
) -> Iterator[Row]:
    by_name = {found.now: found for found in templates}
    live = ready.owners.live
    looked = [
        item
        for item in ready.items
        if item.ref in live
        and item.ref not in ready.recreated
        and not live[item.ref].unchanged
        and (whole or matters(item.ref))
    ]
    at = {item.ref: _version(item) for item in looked}
    views = dict(
        raised(op.cluster.each(lambda ref: op.cluster.get(ref, at[ref]), at))
    )
    names = {found.now.name: found.differences for found in templates}
    for item in ready.items:
        ref = item.ref
        if ref in ready.recreated:
            final = (oneway.MADE_ANEW, *oneway.of_delete(ref, op.registry))
            why = ready.recreated[ref]
            yield Row(ref, Fate.RECREATE, why, final=final)
        elif ref not in live:
            if template := by_name.get(ref):
                why = f"in the place of {template.former}"
                yield Row(ref, Fate.CREATE, why, template.differences)
            elif whole:
                yield Row(ref, Fate.CREATE)
        elif live[ref].unchanged:
            if whole:
                yield Row(ref, Fate.UNCHANGED)
        elif ref in views:
            yield _updated(ready, item, views[ref], names)


def _version(item: Placed) -> str:
    """In which its manifest is written, and the object is to be seen."""
    _, version = objects.split_api_version(item.manifest["apiVersion"])
    return version


def _updated(
    ready: Prepared,
    item: Placed,
    live: Manifest | None,
    templates: Mapping[str, tuple[Difference, ...]],
) -> Row:
    ref = item.ref
    if live is None:
        return Row(ref, Fate.CREATE, "it has just gone")
    would = ready.would.get(ref)
    why = ""
    if would is None:
        # Without a dry run only what the manifest says can be compared.
        would = differences.overlaid(live, item.manifest)
        why = "the server could not check it yet" * (ref in ready.not_yet)
    found = differences.between(live, would)
    if not found:
        return Row(ref, Fate.UNCHANGED, why)
    return Row(
        ref,
        Fate.UPDATE,
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
        oneway.of_update(live, would),
    )


def _gone(
    op: Operation,
    ready: Prepared,
    planned: Plan,
    templates: Collection[_Template],
) -> Iterator[Row]:
    replaced = {found.former: found.now for found in templates}
    for stage in planned.stages:
        for step in stage.steps:
            ref = step.ref
            if not isinstance(step, Delete) or ref in ready.recreated:
                continue
            why = ""
            if now := replaced.get(ref):
                why = f"{now} takes its place, when no machine needs it"
            final = oneway.of_delete(ref, op.registry)
            yield Row(ref, Fate.PRUNE, why, final=final)


def _affected(
    op: Operation, ready: Prepared, rows: Mapping[ObjectRef, Row]
) -> dict[ObjectRef, Row]:
    """Clusters whose class changes, those of other instances, too."""
    changed = {
        ref: row.rollout
        for ref, row in rows.items()
        if ref.group_kind == rollouts.CLASS and row.rollout
    }
    if not changed:
        return {}
    found: dict[ObjectRef, Row] = {}
    try:
        clusters = list(op.cluster.list_objects(rollouts.CLUSTER))
    except (errors.Forbidden, errors.KindUnknown):
        clusters = [
            item.manifest
            for item in ready.items
            if item.ref.group_kind == rollouts.CLUSTER
        ]
    for cluster in clusters:
        ref = ObjectRef.of(cluster)
        class_ref = classes.of(cluster)
        does = changed.get(class_ref) if class_ref else None
        if does is None:
            continue
        row = rows.get(ref) or Row(ref, Fate.AFFECT, "its class changes")
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
