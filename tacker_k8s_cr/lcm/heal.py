"""Heal an instance: replace Pods and Machines."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.engine import delete
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.execution import recreate_members
from tacker_k8s_cr.lcm.healing import members as replica_groups
from tacker_k8s_cr.lcm.healing import selection
from tacker_k8s_cr.lcm.healing import wait_replaced
from tacker_k8s_cr.lcm.healing.remediation import MACHINE
from tacker_k8s_cr.lcm.healing.selection import HealSelection
from tacker_k8s_cr.lcm.healing.selection import MemberLocation
from tacker_k8s_cr.lcm.machines.machine_healing import MachineHealing
from tacker_k8s_cr.lcm.preparation import kind_handlers
from tacker_k8s_cr.lcm.preparation import prepare_from_record
from tacker_k8s_cr.lcm.preparation.prepared import Prepared
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import stage_runner
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import MemberRef
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.steps import Delete
from tacker_k8s_cr.wait.progress import AwaitedObject


def heal(
    request: Request,
    members: Collection[str] | None = None,
    *,
    operation: str = "",
) -> Report:
    """Replace members: Pods, and Machines of workload clusters.

    Selected members are deleted, and their controllers create new ones; what
    the instance owns directly is recreated from its manifest. Machines may be
    annotated for remediation instead. A heal of all members applies the last
    package again, which creates what is missing and reverts changes by other
    clients, and then replaces every member. No other object is deleted,
    including Clusters.

    Repeating a heal that ended early completes it: what it replaced is not
    replaced again. Another heal recreates what the first one deleted and no
    controller recreates.

    :param members: UIDs of Pods or Machines; None for all. An empty
        collection only waits until all objects are current. A member that
        the running or the last heal has replaced counts as healed. One in the
        package that no longer exists may be included, by its former UID.
    :param operation: the caller's name for this heal. Repeating one of the
        same name has no effect once it is done, and one of another name does
        not continue it.

    Raises NotHealable, before anything is written, for members that no
    controller and no heal would replace.
    """
    # Forced: the package's values replace those of other field managers.
    options = dataclasses.replace(request.options, field_conflicts="force")
    op = Session("heal", dataclasses.replace(request, options=options))
    op.ledger.read(Phase.INSTANTIATED, Phase.HEALING)
    op.require_supported()
    before = execute.recovered_inventory(op)
    known = kind_handlers.registry_for(op.cluster, request.registry, before)
    op.use_registry(known)
    groups = replica_groups.groups_by_owner(op.cluster, known, before)
    found = selection.locate_members(groups)
    unlisted = selection.unlisted_members(groups)
    if requested_pools := unlisted.keys() & set(members or ()):
        unseen = {unlisted[uid]: selection.HIDDEN for uid in requested_pools}
        raise errors.NotHealable(unseen)
    selected = selection.select_members(
        before, found, known, members, operation
    )
    if selected.healing.all_members:
        unseen = dict.fromkeys(unlisted.values(), selection.HIDDEN)
        selected = selected.without(unseen)
    machines = _machines(op, before, selected, found)
    refused = machines.find_refusals()
    if refused and not selected.healing.all_members:
        raise errors.NotHealable(refused)
    selected = selected.without(refused)
    standalone = [g for g in selected.healing.members if g.ref == g.owner]
    ready: Prepared | None = None
    if standalone or selected.healing.all_members:
        op.report_checking(len(before.manifests))
        ready = prepare_from_record.prepare_from_record(op, before, before)
        op.use_registry(ready.registry)
        foreign = {member.ref for member in standalone} & ready.owners.shared
        if foreign and not selected.healing.all_members:
            raise errors.NotHealable(
                dict.fromkeys(foreign, recreate_members.FOREIGN)
            )
    with op.locked():
        retained_uids = {member.uid for member in selected.healing.members}
        still_annotated = machines.remove_annotations(retained_uids)
        inventory = dataclasses.replace(
            before,
            phase=Phase.HEALING,
            healing=selected.healing,
            machines_to_delete=still_annotated,
        )
        op.ledger.write(inventory.with_journal(op.name, "", ()))
        if ready and selected.healing.all_members:
            _apply_manifests(op, ready)
        remaining = {member.uid for member in selected.healing.members}
        for locations in selection.split_batches(
            selected.healing, found, machines.annotated
        ):
            remaining -= {location.member.uid for location in locations}
            _replace(op, locations, machines, remaining)
        _wait_replaced(op, selected.healing.members)
        if standalone:
            recreate_members.recreate_members(
                op, standalone, found, request.registry
            )
        if not selected.healing.members and not selected.healing.all_members:
            op.snapshot(op.inventory.owned)
        op.wait_applied()
        op.ledger.save_idle()
    replaced = [member.ref for member in selected.healing.members]
    healed = dict.fromkeys(replaced, Action.HEALED)
    op.actions = {r: a for r, a in op.actions.items() if r not in healed}
    retained = dict.fromkeys(selected.retained, Action.RETAINED)
    reasons = {
        r: (w,) for r, w in selected.retained.items() if r in op.actions
    }
    op.notes.update(reasons)
    return op.report({**healed, **retained}, selected.retained)


class NoMachines:
    """What a heal does about Machines if none is concerned: nothing."""

    annotated: frozenset[str] = frozenset()

    def find_refusals(self) -> dict[ObjectRef, str]:
        return {}

    def remove_annotations(
        self, retained_uids: Collection[str]
    ) -> tuple[MemberRef, ...]:
        return ()

    def annotate(self, locations: Iterable[MemberLocation]) -> None:
        pass


def _machines(
    op: Session,
    before: Inventory,
    selected: HealSelection,
    locations: Mapping[str, MemberLocation],
) -> MachineHealing | NoMachines:
    """Return the strategy for Machines: the one place that selects it.

    Machines of an interrupted operation, which may be annotated, count too.
    """
    members = selected.healing.members
    former = before.healing.members if before.healing else ()
    concerned = (*members, *former, *before.machines_to_delete)
    if any(member.ref.group_kind == MACHINE for member in concerned):
        return MachineHealing(op, before, members, locations)
    return NoMachines()


def _apply_manifests(op: Session, ready: Prepared) -> None:
    """Apply the manifests again, and wait until their kinds are served."""
    stages = plan.instantiate(
        ready.items,
        ready.registry,
        ready.owners.live,
        ready.owners.terminating,
        ready.order,
    ).stages
    op.expect_kinds(ready.expected)
    for stage in stages:
        stage_runner.run_stage(op, stage)
        execute.wait_served(op, stage)


def _replace(
    op: Session,
    locations: Collection[MemberLocation],
    machines: MachineHealing | NoMachines,
    later: Collection[str],
) -> None:
    """Delete or annotate these members, and wait for their replacement.

    :param later: UIDs of members that are replaced afterwards.
    """
    member_refs = [location.member for location in locations]
    if any(location.control_plane for location in locations):
        # A control plane that is incomplete or rolling could lose its quorum.
        _wait_replaced(op, member_refs, later, before=True)
    op.uncertain = True
    machines.annotate(locations)
    steps = [
        Delete(g.ref, g.uid)
        for g in member_refs
        if g.uid not in machines.annotated
    ]
    delete.request_deletion(
        op.ledger.fenced_cluster,
        steps,
        grace_seconds=op.options.grace_seconds,
        guard=op.ledger.guard,
    )
    _wait_replaced(op, member_refs, later)


def _wait_replaced(
    op: Session,
    member_refs: Collection[MemberRef],
    later: Collection[str] = (),
    *,
    before: bool = False,
) -> None:
    """Wait until the owners of these members have new ones.

    :param before: wait until the members may be deleted, instead.
    """
    indirect = [member for member in member_refs if member.ref != member.owner]
    owned = op.inventory.owned
    owners = {
        member.owner: owned[member.owner]
        for member in indirect
        if member.owner in owned
    }
    if not owners:
        return
    now = op.deadline.now
    stage = "members that may be deleted" if before else "new members"
    wait_replaced.wait_replaced(
        op.cluster,
        wait_replaced.ReplacementGoal(
            frozenset(member.uid for member in indirect),
            frozenset(member.ref.group_kind for member in indirect),
            owners,
            frozenset(later),
            before,
        ),
        op.progress.with_awaited(
            {ref: AwaitedObject(uid, 0, now) for ref, uid in owners.items()},
            stage,
        ),
        op.deadline,
        listen=op.on_progress,
        guard=op.ledger.check,
    )
    for ref in owners:
        op.actions.setdefault(ref, Action.UNCHANGED)
