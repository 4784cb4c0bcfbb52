"""Put an instance in order again, and give it new members."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.healing import candidates
from tacker_k8s_cr.healing import members as crews
from tacker_k8s_cr.healing import remediating
from tacker_k8s_cr.healing import replacing
from tacker_k8s_cr.healing.candidates import Choice
from tacker_k8s_cr.healing.candidates import Place
from tacker_k8s_cr.inventory import Goer
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm import carry
from tacker_k8s_cr.lcm import marks
from tacker_k8s_cr.lcm import preflight
from tacker_k8s_cr.lcm import prepare
from tacker_k8s_cr.lcm import remaking
from tacker_k8s_cr.lcm import staging
from tacker_k8s_cr.lcm.operation import Listen
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.lcm.prepare import Prepared
from tacker_k8s_cr.options import DEFAULT
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.planning import authored
from tacker_k8s_cr.planning import plan
from tacker_k8s_cr.planning.plan import Delete
from tacker_k8s_cr.progress import Awaited
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.report import Report
from tacker_k8s_cr.terminating import remove


def heal(
    cluster: Cluster,
    instance: str,
    members: Collection[str] | None = None,
    *,
    operation: str = "",
    namespace: str = "",
    record_namespace: str = "",
    deadline: Deadline,
    registry: Registry = kinds.BUILT_IN,
    options: Options = DEFAULT,
    listen: Listen | None = None,
) -> Report:
    """Replace members: Pods, and Machines of workload clusters.

    Chosen members are deleted, and their controllers make new ones; what
    the instance owns directly is made again from its manifest. Machines may
    be marked for remediation in the place of that. To heal all
    is to apply the last package again, which makes what is missing and
    takes back what somebody changed, and then to replace every member. No
    other object is removed, a Cluster neither.

    To repeat a heal that ended early is to finish it: what it replaced is
    not replaced again. Another heal makes again what that has deleted and
    no controller does.

    :param members: UIDs of Pods or Machines; None for all, and none to wait
        until all is current. One that the running or the last heal has
        replaced counts as healed. One of the package that has vanished may
        be among them, by the UID that it had.
    :param operation: what the caller calls this heal. To repeat one of the
        same name does nothing once it is done, and one of another name does
        not go on with it.

    Raises NotHealable, before anything is written, for members that nobody
    would replace.
    """
    # What the package says is the instance's, whoever wrote it since.
    options = dataclasses.replace(options, conflict="take")
    op = Operation(
        "heal",
        cluster,
        instance,
        namespace,
        deadline,
        options,
        listen,
        record_namespace,
    )
    op.ledger.read(Phase.INSTANTIATED, Phase.HEALING)
    preflight.supported(op.inventory, op.name)
    before = carry.taken_up(op)
    known = prepare.known(op.cluster, registry, before)
    op.knowing(known)
    there = crews.of_instance(op.cluster, known, before)
    found = candidates.places(there)
    alone = candidates.hidden(there)
    if pools := alone.keys() & set(members or ()):
        unseen = {alone[uid]: candidates.HIDDEN for uid in pools}
        raise errors.NotHealable(unseen)
    choice = candidates.chosen(before, found, known, members, operation)
    if choice.healing.everything:
        unseen = dict.fromkeys(alone.values(), candidates.HIDDEN)
        choice = choice.without(unseen)
    marked = _marked(before, choice, found, options)
    refused = remediating.refused(op.cluster, [found[uid] for uid in marked])
    if refused and not choice.healing.everything:
        raise errors.NotHealable(refused)
    choice = choice.without(refused)
    direct = [g for g in choice.healing.goers if g.ref == g.owner]
    ready: Prepared | None = None
    if direct or choice.healing.everything:
        op.report_checking(len(before.manifests))
        ready = prepare.recorded(op.cluster, before, before, registry, options)
        op.knowing(ready.registry)
        theirs = {goer.ref for goer in direct} & ready.owners.shared
        if theirs and not choice.healing.everything:
            raise errors.NotHealable(dict.fromkeys(theirs, remaking.THEIRS))
    with op.locked():
        again = {goer.uid for goer in choice.healing.goers}
        stay = marks.taken_off(op, before, {remediating.MARK: again})
        inventory = dataclasses.replace(
            before,
            phase=Phase.HEALING,
            healing=choice.healing,
            leaving=stay,
        )
        op.ledger.write(inventory.entering(op.name, "", ()))
        if ready and choice.healing.everything:
            _bring_in(op, ready)
        left = {goer.uid for goer in choice.healing.goers}
        for places in candidates.rounds(choice.healing, found, marked):
            left -= {place.goer.uid for place in places}
            _replace(op, places, marked, left)
        _await(op, choice.healing.goers)
        if direct:
            remaking.made_again(op, direct, found, registry)
        if not choice.healing.goers and not choice.healing.everything:
            op.look(op.inventory.owned)
        op.settle()
        op.ledger.rest()
    gone = [goer.ref for goer in choice.healing.goers]
    healed = dict.fromkeys(gone, Action.HEALED)
    op.actions = {r: a for r, a in op.actions.items() if r not in healed}
    kept = dict.fromkeys(choice.kept, Action.KEPT)
    whole = {r: (w,) for r, w in choice.kept.items() if r in op.actions}
    op.notes.update(whole)
    return op.report({**healed, **kept}, choice.kept)


def _marked(
    before: Inventory,
    choice: Choice,
    found: Mapping[str, Place],
    options: Options,
) -> frozenset[str]:
    """UIDs of the machines to replace by a mark, in the place of a deletion.

    The object that they work for has the first word, then the request.
    """
    said = authored.manifests(before)
    return frozenset(
        goer.uid
        for goer in choice.healing.goers
        if goer.uid in found
        and goer.ref.group_kind == remediating.MACHINE
        and goer.ref != goer.owner
        and crews.works(found[goer.uid].member)
        and (
            objects.annotation(
                said.get(goer.owner, {}), remediating.ANNOTATION
            )
            or options.heal_machines
        )
        == remediating.REMEDIATE
    )


def _bring_in(op: Operation, ready: Prepared) -> None:
    """Apply the manifests again; what they define is served before use."""
    stages = plan.instantiate(
        ready.items,
        ready.registry,
        ready.owners.live,
        ready.owners.going,
        ready.order,
    ).stages
    op.expecting(ready.expected)
    for stage in stages:
        staging.carry_out(op, stage)
        carry.served(op, stage)


def _replace(
    op: Operation,
    places: Collection[Place],
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
    remediating.marked(
        op.ledger.writing,
        [
            place.goer
            for place in places
            if place.goer.uid in marked
            and not remediating.is_marked(place.member)
        ],
        op.manager,
        op.ledger.guard,
    )
    steps = [Delete(g.ref, g.uid) for g in goers if g.uid not in marked]
    remove.requested(
        op.ledger.writing,
        steps,
        grace_seconds=op.options.grace_seconds,
        guard=op.ledger.guard,
    )
    _await(op, goers, later)


def _await(
    op: Operation,
    goers: Collection[Goer],
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
    replacing.until_replaced(
        op.cluster,
        replacing.Wanted(
            frozenset(goer.uid for goer in indirect),
            frozenset(goer.ref.group_kind for goer in indirect),
            owners,
            frozenset(later),
            before,
        ),
        op.progress.awaiting(
            {ref: Awaited(uid, 0, now) for ref, uid in owners.items()}, stage
        ),
        op.deadline,
        listen=op.listen,
        guard=op.ledger.check,
    )
    for ref in owners:
        op.actions.setdefault(ref, Action.UNCHANGED)
