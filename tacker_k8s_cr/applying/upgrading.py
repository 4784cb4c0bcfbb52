"""Versions of Kubernetes that a package takes workload clusters to."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.errors import Problem
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.kinds.capi import classes
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.capi import control_planes
from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.kinds.capi import versions
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.planning.order import Order
from tacker_k8s_cr.planning.placing import Placed
from tacker_k8s_cr.planning.plan import Live

Views = Mapping[ObjectRef, Manifest]

MACHINE = GroupKind(contract.GROUP, "Machine")


def views(
    cluster: Cluster,
    items: Sequence[Placed],
    live: Mapping[ObjectRef, Live],
) -> dict[ObjectRef, Manifest]:
    """What is there of the objects that name a version, as it is."""
    naming = [
        item.ref
        for item in items
        if item.ref in live and versions.of(item.manifest)
    ]
    found = raised(cluster.each(cluster.get, naming))
    return {ref: obj for ref, obj in found if obj is not None}


def check(cluster: Cluster, items: Sequence[Placed], live: Views) -> None:
    """Raise PackageInvalid for steps that Kubernetes does not make.

    Cluster API refuses a part of them, and only where it is asked before.
    """
    manifests = {item.ref: item.manifest for item in items}
    problems = []
    for item in items:
        why = None
        if item.ref in live and versions.leads(item.ref.group_kind):
            chained = _chained(cluster, item, manifests)
            why = versions.refused(
                live[item.ref], item.manifest, chained=chained
            )
        elif leader := versions.leader_of(item.manifest, manifests):
            why = versions.skewed(
                item.manifest, manifests[leader], live.get(item.ref)
            )
        if why:
            problems.append(Problem(item.where, f"{item.ref}: {why}"))
    if problems:
        raise errors.PackageInvalid(problems)


def ordered(order: Order, items: Sequence[Placed], live: Views) -> Order:
    """With workers that get another version after their control plane."""
    manifests = {item.ref: item.manifest for item in items}
    first = versions.first(manifests, live)
    if not first:
        return order
    needs = dict(order.needs)
    for workers, leader in first.items():
        # An author who wants it the other way round is not held up.
        if workers not in needs.get(leader, ()):
            needs[workers] = needs.get(workers, frozenset()) | {leader}
    return dataclasses.replace(order, needs=needs)


def ahead(
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
        step[ref] = placing.set_field(manifest, place, version)
    return step, frozenset(rising if step != wanted else ())


def _chained(
    cluster: Cluster, item: Placed, manifests: Mapping[ObjectRef, Manifest]
) -> bool:
    """Whether the class of a Cluster names the versions to go through."""
    ref = classes.of(item.manifest)
    if item.ref.group_kind != rollouts.CLUSTER or ref is None:
        return False
    found = manifests.get(ref) or cluster.get(ref)
    return bool(reading.texts(found, ("spec", "kubernetesVersions")))


# -- The way back -------------------------------------------------------------


def kept(
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
        manifests, key=lambda r: not versions.leads(r.group_kind)
    ):
        manifest = manifests[ref]
        before = versions.of(manifest)
        place = versions.path(ref.group_kind)
        if place is None or not before:
            continue
        live_ref = ref._replace(name=names.get(ref, ref.name))
        live = cluster.get(live_ref)
        now = versions.of(live) if live else ""
        if live is None or not versions.lowers(now, before):
            continue
        if versions.leads(ref.group_kind):
            reason = versions.LOWERED if _runs(cluster, live, now) else ""
        else:
            leader = versions.leader_of(manifest, manifests)
            held = stay.get(leader, "") if leader else ""
            joins = not held or versions.joins(manifest, before, held)
            reason = "" if joins else f"{leader} stays {held}"
        if reason:
            stay[ref] = now
            why[live_ref] = (
                f"{'.'.join(place)} stays {now}, and was {before}: {reason}"
            )
            manifests[ref] = placing.set_field(manifest, place, now)
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
        # One without Machines says itself what it runs.
        return reading.text(leader, ("status", "version")) == version
    return any(
        reading.text(machine, _VERSION) == version
        and reading.mapping(machine, ("status", "nodeRef"))
        for machine in machines
    )


_VERSION = ("spec", "version")
