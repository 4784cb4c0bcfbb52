"""Put an instance in order again, and give it new members."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.engine import delete
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.execution import recreate_members
from tacker_k8s_cr.lcm.healing import members as crews
from tacker_k8s_cr.lcm.healing import remediation
from tacker_k8s_cr.lcm.healing import selection
from tacker_k8s_cr.lcm.healing import wait_replaced
from tacker_k8s_cr.lcm.healing.selection import HealSelection
from tacker_k8s_cr.lcm.healing.selection import MemberLocation
from tacker_k8s_cr.lcm.preparation import prepare
from tacker_k8s_cr.lcm.preparation.prepare import Prepared
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.scaling import machine_annotations
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import stage_runner
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.inventory import MemberRef
from tacker_k8s_cr.plan.inventory import Phase
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.plan.plan import Delete
from tacker_k8s_cr.wait.progress import AwaitedObject


def heal(
    request: Request,
    members: Collection[str] | None = None,
    *,
    operation: str = "",
) -> Report:
    """Replace members: Pods, and Machines of workload clusters.

    Selected members are deleted, and their controllers create new ones; what
    the instance owns directly is created again from its manifest. Machines may
    be marked for remediation instead. A heal of all members applies the last
    package again, which creates what is missing and reverts changes by other
    clients, and then replaces every member. No other object is deleted,
    including Clusters.

    Repeating a heal that ended early completes it: what it replaced is not
    replaced again. Another heal recreates what the first one deleted and no
    controller recreates.

    :param members: UIDs of Pods or Machines; None for all, and none to wait
        until all is current. One that the running or the last heal has
        replaced counts as healed. A member in the package that no longer
        exists may be included, by its former UID.
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
    known = prepare.registry_for(op.cluster, request.registry, before)
    op.use_registry(known)
    there = crews.of_instance(op.cluster, known, before)
    found = selection.places(there)
    alone = selection.unlisted_members(there)
    if pools := alone.keys() & set(members or ()):
        unseen = {alone[uid]: selection.HIDDEN for uid in pools}
        raise errors.NotHealable(unseen)
    choice = selection.select_members(before, found, known, members, operation)
    if choice.healing.all_members:
        unseen = dict.fromkeys(alone.values(), selection.HIDDEN)
        choice = choice.without(unseen)
    marked = _marked(before, choice, found, op.options)
    refused = remediation.remediation_refusals(
        op.cluster, [found[uid] for uid in marked]
    )
    if refused and not choice.healing.all_members:
        raise errors.NotHealable(refused)
    choice = choice.without(refused)
    direct = [g for g in choice.healing.members if g.ref == g.owner]
    ready: Prepared | None = None
    if direct or choice.healing.all_members:
        op.report_checking(len(before.manifests))
        ready = prepare.prepare_from_record(op, before, before)
        op.use_registry(ready.registry)
        theirs = {goer.ref for goer in direct} & ready.owners.shared
        if theirs and not choice.healing.all_members:
            raise errors.NotHealable(
                dict.fromkeys(theirs, recreate_members.THEIRS)
            )
    with op.locked():
        again = {goer.uid for goer in choice.healing.members}
        stay = machine_annotations.remove_annotations(
            op, before, {remediation.MARK: again}
        )
        inventory = dataclasses.replace(
            before,
            phase=Phase.HEALING,
            healing=choice.healing,
            machines_to_delete=stay,
        )
        op.ledger.write(inventory.with_journal(op.name, "", ()))
        if ready and choice.healing.all_members:
            _bring_in(op, ready)
        left = {goer.uid for goer in choice.healing.members}
        for places in selection.batches(choice.healing, found, marked):
            left -= {place.goer.uid for place in places}
            _replace(op, places, marked, left)
        _await(op, choice.healing.members)
        if direct:
            recreate_members.recreate_members(
                op, direct, found, request.registry
            )
        if not choice.healing.members and not choice.healing.all_members:
            op.snapshot(op.inventory.owned)
        op.wait_applied()
        op.ledger.save_idle()
    gone = [goer.ref for goer in choice.healing.members]
    healed = dict.fromkeys(gone, Action.HEALED)
    op.actions = {r: a for r, a in op.actions.items() if r not in healed}
    kept = dict.fromkeys(choice.kept, Action.RETAINED)
    whole = {r: (w,) for r, w in choice.kept.items() if r in op.actions}
    op.notes.update(whole)
    return op.report({**healed, **kept}, choice.kept)


def _marked(
    before: Inventory,
    choice: HealSelection,
    found: Mapping[str, MemberLocation],
    options: Options,
) -> frozenset[str]:
    """Return UIDs of the Machines to mark for remediation, not to delete.

    The object that owns the Machines takes precedence over the request.
    """
    said = manifest_annotations.manifests(before)
    return frozenset(
        goer.uid
        for goer in choice.healing.members
        if goer.uid in found
        and goer.ref.group_kind == remediation.MACHINE
        and goer.ref != goer.owner
        and crews.is_active(found[goer.uid].member)
        and (
            objects.annotation(
                said.get(goer.owner, {}), remediation.ANNOTATION
            )
            or options.machine_heal_strategy
        )
        == remediation.REMEDIATE
    )


def _bring_in(op: Session, ready: Prepared) -> None:
    """Apply the manifests again; what they define is served before use."""
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
    places: Collection[MemberLocation],
    marked: Collection[str],
    later: Collection[str],
) -> None:
    """Delete or mark these members, and wait for others in their places.

    :param marked: UIDs of machines that are marked.
    :param later: UIDs of those that go after these.
    """
    goers = [place.goer for place in places]
    if any(place.control_plane for place in places):
        # One that changes, or is not whole, would lose its majority.
        _await(op, goers, later, before=True)
    op.uncertain = True
    remediation.request_remediation(
        op.ledger.fenced_cluster,
        [
            place.goer
            for place in places
            if place.goer.uid in marked
            and not remediation.is_marked(place.member)
        ],
        op.manager,
        op.ledger.guard,
    )
    steps = [Delete(g.ref, g.uid) for g in goers if g.uid not in marked]
    delete.request_deletion(
        op.ledger.fenced_cluster,
        steps,
        grace_seconds=op.options.grace_seconds,
        guard=op.ledger.guard,
    )
    _await(op, goers, later)


def _await(
    op: Session,
    goers: Collection[MemberRef],
    later: Collection[str] = (),
    *,
    before: bool = False,
) -> None:
    """Wait until the objects that these worked for have others.

    :param before: until these may go, instead.
    """
    indirect = [goer for goer in goers if goer.ref != goer.owner]
    owned = op.inventory.owned
    owners = {
        goer.owner: owned[goer.owner]
        for goer in indirect
        if goer.owner in owned
    }
    if not owners:
        return
    now = op.deadline.now
    stage = "members that may go" if before else "new members"
    wait_replaced.wait_replaced(
        op.cluster,
        wait_replaced.ReplacementGoal(
            frozenset(goer.uid for goer in indirect),
            frozenset(goer.ref.group_kind for goer in indirect),
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
