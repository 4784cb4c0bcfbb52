"""Versions of Kubernetes that a package takes workload clusters to."""

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
from tacker_k8s_cr.plan.plan import LiveObject

Views = Mapping[ObjectRef, Manifest]

MACHINE = GroupKind(contract.GROUP, "Machine")


def read_version_objects(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    live: Mapping[ObjectRef, LiveObject],
) -> dict[ObjectRef, Manifest]:
    """What is there of the objects that name a version, as it is."""
    naming = [
        item.ref
        for item in items
        if item.ref in live and versions.of(item.manifest)
    ]
    found = results_or_raise(cluster.map_parallel(cluster.get, naming))
    return {ref: obj for ref, obj in found if obj is not None}


def check(
    cluster: Cluster, items: Sequence[PlacedManifest], live: Views
) -> None:
    """Raise PackageInvalid for steps that Kubernetes does not make.

    Cluster API refuses a part of them, and only where it is asked before.
    """
    manifests = {item.ref: item.manifest for item in items}
    problems = []
    for item in items:
        why = None
        if item.ref in live and versions.is_control_plane_kind(
            item.ref.group_kind
        ):
            chained = _chained(cluster, item, manifests)
            why = versions.upgrade_error(
                live[item.ref], item.manifest, chained=chained
            )
        elif leader := versions.control_plane_of(item.manifest, manifests):
            why = versions.version_skew_error(
                item.manifest, manifests[leader], live.get(item.ref)
            )
        if why:
            problems.append(Problem(item.where, f"{item.ref}: {why}"))
    if problems:
        raise errors.PackageInvalid(problems)


def control_planes_first(
    order: Order, items: Sequence[PlacedManifest], live: Views
) -> Order:
    """With workers that get another version after their control plane."""
    manifests = {item.ref: item.manifest for item in items}
    first = versions.upgrade_order(manifests, live)
    if not first:
        return order
    needs = dict(order.needs)
    for workers, leader in first.items():
        # An author who wants it the other way round is not held up.
        if workers not in needs.get(leader, ()):
            needs[workers] = needs.get(workers, frozenset()) | {leader}
    return dataclasses.replace(order, needs=needs)


def with_new_versions_only(
    before: Sequence[Manifest],
    now: Sequence[Manifest],
    after: Sequence[Manifest],
) -> tuple[dict[ObjectRef, Manifest], frozenset[ObjectRef]]:
    """Manifests as they are now, with the versions that come after.

    And those of them that get another version by that. There is none where
    nothing but versions differs: that needs no step of its own.

    :param before: what the change began from.
    :param now: the same, or what a step of it that died has made of it.
    """
    wanted = {ObjectRef.of(manifest): manifest for manifest in after}
    former = {ObjectRef.of(manifest): manifest for manifest in before}
    step = {ObjectRef.of(manifest): manifest for manifest in now}
    rising = []
    for ref, manifest in step.items():
        version = versions.of(wanted.get(ref, {}))
        place = versions.path(ref.group_kind)
        if place is None or not version or not versions.of(manifest):
            continue
        if version != versions.of(former.get(ref, manifest)):
            rising.append(ref)
        step[ref] = placement.set_field(manifest, place, version)
    return step, frozenset(rising if step != wanted else ())


def _chained(
    cluster: Cluster,
    item: PlacedManifest,
    manifests: Mapping[ObjectRef, Manifest],
) -> bool:
    """Whether the class of a Cluster names the versions to go through."""
    ref = cluster_class.of(item.manifest)
    if item.ref.group_kind != rollouts.CLUSTER or ref is None:
        return False
    found = manifests.get(ref) or cluster.get(ref)
    return bool(fields.texts(found, ("spec", "kubernetesVersions")))


# -- The way back -------------------------------------------------------------


def with_live_versions(
    cluster: Cluster,
    wanted: Sequence[Manifest],
    names: Mapping[ObjectRef, str],
) -> tuple[tuple[Manifest, ...], dict[ObjectRef, str]]:
    """Manifests from before, with the versions that are there to stay.

    And by object why its version stays: that of a control plane is not
    lowered once a machine of it runs the new one, nor that of a topology,
    of which Cluster API allows no way back at all. Workers that could not
    join it any more stay with it.

    :param names: that objects have in the cluster, where it is another.
    """
    manifests = {ObjectRef.of(manifest): manifest for manifest in wanted}
    stay: dict[ObjectRef, str] = {}
    why: dict[ObjectRef, str] = {}
    for ref in sorted(
        manifests,
        key=lambda r: not versions.is_control_plane_kind(r.group_kind),
    ):
        manifest = manifests[ref]
        before = versions.of(manifest)
        place = versions.path(ref.group_kind)
        if place is None or not before:
            continue
        live_ref = ref._replace(name=names.get(ref, ref.name))
        live = cluster.get(live_ref)
        now = versions.of(live) if live else ""
        if live is None or not versions.is_downgrade(now, before):
            continue
        if versions.is_control_plane_kind(ref.group_kind):
            reason = versions.LOWERED if _runs(cluster, live, now) else ""
        else:
            leader = versions.control_plane_of(manifest, manifests)
            held = stay.get(leader, "") if leader else ""
            joins = not held or versions.can_join(manifest, before, held)
            reason = "" if joins else f"{leader} stays {held}"
        if reason:
            stay[ref] = now
            why[live_ref] = (
                f"{'.'.join(place)} stays {now}, and was {before}: {reason}"
            )
            manifests[ref] = placement.set_field(manifest, place, now)
    return tuple(manifests.values()), why


def _runs(cluster: Cluster, leader: Manifest, version: str) -> bool:
    """Whether a machine of a control plane has come up at a version."""
    ref = ObjectRef.of(leader)
    if ref.group_kind == rollouts.CLUSTER:
        return True
    selector = f"{control_planes.CONTROL_PLANE_NAME}={ref.name}"
    try:
        machines = list(cluster.list_objects(MACHINE, ref.namespace, selector))
    except errors.Forbidden:
        return True
    if not machines:
        # The status of one without Machines holds the version that it runs.
        return fields.text(leader, ("status", "version")) == version
    return any(
        fields.text(machine, _VERSION) == version
        and fields.mapping(machine, ("status", "nodeRef"))
        for machine in machines
    )


_VERSION = ("spec", "version")
