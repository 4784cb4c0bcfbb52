"""Put an instance in order again, and give it new members."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr import kinds
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.healing import candidates
from tacker_k8s_cr.healing import members as crews
from tacker_k8s_cr.healing import replacing
from tacker_k8s_cr.healing.candidates import Place
from tacker_k8s_cr.inventory import Goer
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm import carry
from tacker_k8s_cr.lcm import prepare
from tacker_k8s_cr.lcm.operation import Listen
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.lcm.prepare import Prepared
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import Verdict
from tacker_k8s_cr.options import DEFAULT
from tacker_k8s_cr.options import Options
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
    namespace: str = "default",
    deadline: Deadline,
    registry: Registry = kinds.BUILT_IN,
    options: Options = DEFAULT,
    listen: Listen | None = None,
) -> Report:
    """Replace members: Pods, and Machines of workload clusters.

    Chosen members are deleted, and their controllers make new ones; what
    the instance owns directly is made again from its manifest. To heal all
    is to apply the last package again, which makes what is missing and
    takes back what somebody changed, and then to replace every member. No
    other object is removed, a Cluster neither.

    To repeat a heal that ended early is to finish it: what it replaced is
    not replaced again.

    :param members: UIDs of Pods or Machines; None for all, and none to wait
        until all is current. One that the running or the last heal has
        replaced counts as healed.
    :param operation: what the caller calls this heal. To repeat one of the
        same name does nothing once it is done, and one of another name does
        not go on with it.

    Raises NotHealable, before anything is written, for members that nobody
    would replace.
    """
    # What the package says is the instance's, whoever wrote it since.
    options = dataclasses.replace(options, conflict="take")
    op = Operation(
        "heal", cluster, instance, namespace, deadline, options, listen
    )
    op.ledger.read(Phase.INSTANTIATED, Phase.HEALING)
    before = carry.taken_up(op)
    known = prepare.known(op.cluster, registry, before)
    op.knowing(known)
    found = candidates.places(crews.of_instance(op.cluster, known, before))
    choice = candidates.chosen(before, found, known, members, operation)
    direct = [g for g in choice.healing.goers if g.ref == g.owner]
    ready: Prepared | None = None
    if direct or choice.healing.everything:
        ready = prepare.recorded(op.cluster, before, before, registry, options)
        op.knowing(ready.registry)
    with op.locked():
        inventory = dataclasses.replace(
            before, phase=Phase.HEALING, healing=choice.healing
        )
        op.ledger.write(inventory.entering(op.name, "", ()))
        if ready and choice.healing.everything:
            _bring_in(op, ready)
        for places in candidates.rounds(choice.healing, found):
            if any(place.control_plane for place in places):
                # One that changes, or is not whole, would lose its majority.
                op.settle()
            _replace(op, places)
        _await_all(op, choice.healing.goers)
        if direct:
            _make_again(op, direct, found, registry)
        if not choice.healing.goers and not choice.healing.everything:
            op.look(op.inventory.owned)
        op.settle()
        op.ledger.rest()
    gone = [goer.ref for goer in choice.healing.goers]
    healed = dict.fromkeys(gone, Action.HEALED)
    op.actions = {r: a for r, a in op.actions.items() if r not in healed}
    kept = dict.fromkeys(choice.kept, Action.KEPT)
    return op.report({**healed, **kept}, choice.kept)


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
        op.carry_out(stage)
        carry.served(op, stage)


def _replace(op: Operation, places: Collection[Place]) -> None:
    """Delete these members, and wait for others in their places."""
    op.uncertain = True
    steps = [Delete(place.goer.ref, place.goer.uid) for place in places]
    remove.requested(
        op.ledger.writing,
        steps,
        grace_seconds=op.options.grace_seconds,
        guard=op.ledger.guard,
    )
    _await_all(op, [place.goer for place in places])


def _await_all(op: Operation, goers: Collection[Goer]) -> None:
    """Wait until the objects that these worked for have others."""
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
    op.progress = op.progress.awaiting(
        {ref: Awaited(uid, 0, now) for ref, uid in owners.items()},
        "new members",
    )

    def told(
        objs: Mapping[ObjectRef, Manifest],
    ) -> Mapping[ObjectRef, Verdict]:
        now = op.deadline.now
        op.listen(op.progress.observed(objs.values(), now))
        return {ref: op.progress.verdict(ref, now) for ref in objs}

    replacing.until_replaced(
        op.cluster,
        replacing.Wanted(
            frozenset(goer.uid for goer in indirect),
            frozenset(goer.ref.group_kind for goer in indirect),
            owners,
            op.options.dwell,
        ),
        op.progress.registry,
        op.deadline,
        told=told,
        guard=op.ledger.check,
    )
    for ref in owners:
        op.actions.setdefault(ref, Action.UNCHANGED)


def _make_again(
    op: Operation,
    direct: Collection[Goer],
    found: Mapping[str, Place],
    registry: Registry,
) -> None:
    """Replace what the instance owns directly, from the record.

    What went with it, such as what a Machine was started from, is made
    again too.
    """
    going = tuple(
        Delete(goer.ref, goer.uid) for goer in direct if goer.uid in found
    )
    if going:
        op.carry_out(plan.Stage("members", going))
    inventory = op.inventory
    ready = prepare.recorded(
        op.cluster, inventory, inventory, registry, op.options
    )
    missing = [
        item for item in ready.items if item.ref not in ready.owners.live
    ]
    stages = plan.instantiate(
        missing,
        ready.registry,
        going=ready.owners.going,
        order=ready.order,
    ).stages
    for stage in stages:
        op.carry_out(stage)
