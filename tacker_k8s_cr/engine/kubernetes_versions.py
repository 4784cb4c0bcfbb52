"""Upgrade the Kubernetes version of workload clusters."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.capi import cluster_class
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.capi import control_planes
from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.kinds.capi import versions
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.order import Order
from tacker_k8s_cr.plan.placement import PlacedManifest
from tacker_k8s_cr.plan.steps import LiveObject

LiveManifests = Mapping[ObjectRef, Manifest]

MACHINE = GroupKind(contract.GROUP, "Machine")


def read_version_objects(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    live: Mapping[ObjectRef, LiveObject],
) -> dict[ObjectRef, Manifest]:
    """Return the existing objects whose manifests specify a version."""
    versioned = [
        item.ref
        for item in items
        if item.ref in live and versions.version_of(item.manifest)
    ]
    found = results_or_raise(cluster.map_parallel(cluster.get, versioned))
    return {ref: obj for ref, obj in found if obj is not None}


def check_versions(
    cluster: Cluster, items: Sequence[PlacedManifest], live: LiveManifests
) -> None:
    """Raise PackageInvalid for version steps that are not supported.

    Cluster API refuses only some of them at the time of the write.
    """
    manifests = {item.ref: item.manifest for item in items}
    problems = []
    for item in items:
        reason = None
        if item.ref in live and versions.is_control_plane_kind(
            item.ref.group_kind
        ):
            chained = _has_upgrade_path(cluster, item, manifests)
            reason = versions.upgrade_error(
                live[item.ref], item.manifest, chained=chained
            )
        elif control_plane := versions.control_plane_of(
            item.manifest, manifests
        ):
            reason = versions.version_skew_error(
                item.manifest, manifests[control_plane], live.get(item.ref)
            )
        if reason:
            problems.append(Problem(item.where, f"{item.ref}: {reason}"))
    if problems:
        raise errors.PackageInvalid(problems)


def control_planes_first(
    order: Order, items: Sequence[PlacedManifest], live: LiveManifests
) -> Order:
    """Return the order, with workers upgraded after their control plane."""
    manifests = {item.ref: item.manifest for item in items}
    control_plane_of = versions.upgrade_order(manifests, live)
    if not control_plane_of:
        return order
    needs = dict(order.needs)
    for workers, control_plane in control_plane_of.items():
        # The order of the author takes precedence.
        if workers not in needs.get(control_plane, ()):
            needs[workers] = needs.get(workers, frozenset()) | {control_plane}
    return dataclasses.replace(order, needs=needs)


def with_new_versions_only(
    before: Sequence[Manifest],
    now: Sequence[Manifest],
    after: Sequence[Manifest],
) -> tuple[dict[ObjectRef, Manifest], frozenset[ObjectRef]]:
    """Return the current manifests, with the versions of the new package.

    The second value contains those whose version changes. It is empty where
    nothing but versions differs: that needs no separate step.

    :param before: the manifests before the change.
    :param now: the same, or as changed by a step that was interrupted.
    """
    wanted = {ObjectRef.of(manifest): manifest for manifest in after}
    former = {ObjectRef.of(manifest): manifest for manifest in before}
    step = {ObjectRef.of(manifest): manifest for manifest in now}
    upgraded = []
    for ref, manifest in step.items():
        version = versions.version_of(wanted.get(ref, {}))
        path = versions.version_path(ref.group_kind)
        if path is None or not version or not versions.version_of(manifest):
            continue
        if version != versions.version_of(former.get(ref, manifest)):
            upgraded.append(ref)
        step[ref] = placement.set_field(manifest, path, version)
    return step, frozenset(upgraded if step != wanted else ())


def _has_upgrade_path(
    cluster: Cluster,
    item: PlacedManifest,
    manifests: Mapping[ObjectRef, Manifest],
) -> bool:
    """Whether the class of a Cluster lists the versions of an upgrade."""
    ref = cluster_class.class_ref(item.manifest)
    if item.ref.group_kind != rollouts.CLUSTER or ref is None:
        return False
    found = manifests.get(ref) or cluster.get(ref)
    return bool(fields.texts(found, ("spec", "kubernetesVersions")))


# -- Rollback -----------------------------------------------------------------


def with_live_versions(
    cluster: Cluster,
    wanted: Sequence[Manifest],
    names: Mapping[ObjectRef, str],
) -> tuple[tuple[Manifest, ...], dict[ObjectRef, str]]:
    """Return the manifests for a rollback, with versions that remain.

    The second value is the reason by object. The version of a control plane
    is not lowered once one of its Machines runs the new one, nor is that of a
    topology, which Cluster API never lowers. Workers that could not join
    their control plane keep their version too.

    :param names: the live names of objects whose name differs.
    """
    manifests = {ObjectRef.of(manifest): manifest for manifest in wanted}
    kept_versions: dict[ObjectRef, str] = {}
    reasons: dict[ObjectRef, str] = {}
    for ref in sorted(
        manifests,
        key=lambda r: not versions.is_control_plane_kind(r.group_kind),
    ):
        manifest = manifests[ref]
        before = versions.version_of(manifest)
        path = versions.version_path(ref.group_kind)
        if path is None or not before:
            continue
        live_ref = ref._replace(name=names.get(ref, ref.name))
        live = cluster.get(live_ref)
        now = versions.version_of(live) if live else ""
        if live is None or not versions.is_downgrade(now, before):
            continue
        if versions.is_control_plane_kind(ref.group_kind):
            reason = (
                versions.DOWNGRADE_REASON
                if _has_machine_at(cluster, live, now)
                else ""
            )
        else:
            control_plane = versions.control_plane_of(manifest, manifests)
            kept = (
                kept_versions.get(control_plane, "") if control_plane else ""
            )
            joinable = not kept or versions.can_join(manifest, before, kept)
            reason = "" if joinable else f"{control_plane} stays {kept}"
        if reason:
            kept_versions[ref] = now
            reasons[live_ref] = (
                f"{'.'.join(path)} stays {now}, and was {before}: {reason}"
            )
            manifests[ref] = placement.set_field(manifest, path, now)
    return tuple(manifests.values()), reasons


def _has_machine_at(
    cluster: Cluster, control_plane: Manifest, version: str
) -> bool:
    """Whether a machine of a control plane has come up at a version."""
    ref = ObjectRef.of(control_plane)
    if ref.group_kind == rollouts.CLUSTER:
        return True
    selector = f"{control_planes.CONTROL_PLANE_NAME}={ref.name}"
    try:
        machines = list(cluster.list_objects(MACHINE, ref.namespace, selector))
    except errors.Forbidden:
        return True
    if not machines:
        # The status of one without Machines holds the version that it runs.
        return fields.text(control_plane, ("status", "version")) == version
    return any(
        fields.text(machine, _VERSION) == version
        and fields.mapping(machine, ("status", "nodeRef"))
        for machine in machines
    )


_VERSION = ("spec", "version")
