"""Remove an instance with all that it made."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import logging

from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr import objects
from tacker_k8s_cr import policy as policies
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm import carry
from tacker_k8s_cr.lcm import claims
from tacker_k8s_cr.lcm import marks
from tacker_k8s_cr.lcm import retained
from tacker_k8s_cr.lcm import staging
from tacker_k8s_cr.lcm import takeback
from tacker_k8s_cr.lcm.operation import Listen
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import DEFAULT
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.planning import authored
from tacker_k8s_cr.planning import barriers
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.planning import plan
from tacker_k8s_cr.recording import strays
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.report import Report
from tacker_k8s_cr.subjects import Subject
from tacker_k8s_cr.terminating import clearing
from tacker_k8s_cr.terminating import finalizers
from tacker_k8s_cr.terminating import leave
from tacker_k8s_cr.terminating import staying

LOG = logging.getLogger(__name__)

CLEAR = "clear"
"""Annotation of a Cluster: what is removed in its cluster before it goes."""


def terminate(
    cluster: Cluster,
    instance: str,
    *,
    namespace: str = "",
    record_namespace: str = "",
    deadline: Deadline,
    registry: Registry = kinds.BUILT_IN,
    options: Options = DEFAULT,
    listen: Listen | None = None,
) -> Report:
    """Remove all that the instance made, and its record.

    What it took over from others by name is given up, and stays, as does
    what is to be kept with all that this needs, and what other instances
    use.

    Refuses, before anything is deleted, if objects of others would go with
    a definition or a namespace of the instance.
    """
    op = Operation(
        "terminate",
        cluster,
        instance,
        namespace,
        deadline,
        options,
        listen,
        record_namespace,
    )
    op.ledger.read()
    return ended(op, registry)


def ended(
    op: Operation, registry: Registry, *, keeping: bool = True
) -> Report:
    """Remove the instance whose record the operation has read.

    :param keeping: leave what is said to outlive the instance. Whoever
        takes an instantiation back wants all of it back.
    """
    op.knowing(registry)
    if op.ledger.entry is None:
        return _ended_without_record(op, keeping=keeping)
    last = carry.namespace(op.home)
    inventory = dataclasses.replace(carry.taken_up(op), phase=Phase.ENDING)
    met = {r: u for r, u in inventory.owned.items() if r in inventory.met}
    ours = inventory.without(met)
    manifests = retained.manifests(op, inventory)
    # A repeated termination has resolved the policy before.
    retention = retained.retention(inventory.policy, op.options, keeping)
    said: dict[ObjectRef, tuple[bool, str]] = {}
    if keeping:
        said = staying.said(
            ours.owned,
            manifests,
            inventory.policy,
            op.options.on_terminate,
            op.options.on_terminate_else,
            again=op.inventory.phase is Phase.ENDING,
        )
        # A repeated end keeps the same, whatever its request leaves out.
        settled: dict[Subject, bool] = {
            **retention.named,
            **{ref: stays for ref, (stays, _) in said.items()},
        }
        policy = dataclasses.replace(inventory.policy, on_terminate=settled)
        inventory = dataclasses.replace(inventory, policy=policy)
        ours = dataclasses.replace(ours, policy=policy)
    rules = claims.load_rules(op, inventory, retention)
    inventory = dataclasses.replace(inventory, claim_rules=rules)
    ours = dataclasses.replace(ours, claim_rules=rules)
    kept, found = retained.find(op, inventory, retention, manifests, said)
    going = ours.without(kept).owned
    cleanup = claims.cleanup(op, inventory, retention, {*kept, *met})
    cleanup.check_permissions()
    _check(op, kept, going, found.decisions.requested)
    left: dict[ObjectRef, str] = {}
    with op.locked():
        # What stays is not to go first, nor to be replaced, years later.
        marks.taken_off(op, op.inventory)
        op.ledger.write(inventory.entering(op.name, "", ()))
        # From now on nobody begins to share; somebody may have before.
        kept, found = retained.find(op, inventory, retention, manifests, said)
        going = ours.without(kept).owned
        if met:
            left = takeback.released(op, met)
            op.ledger.write(ours.entering(op.name, "", ()))
        stages = plan.terminate(
            going, registry, last, authored.order(inventory)
        ).stages
        cleanup = claims.cleanup(op, inventory, retention, {*kept, *met})
        for stage, due in cleanup.interleave(stages):
            late = cleanup.delete(due)
            found = found.merge(late)
            kept = retained.with_required(
                kept, late, ours.owned, manifests, said
            )
            if stage and last not in stage.refs:
                _clear(op, stage, manifests)
                _look_again(op, stage.refs, going)
                staging.carry_out(op, stage.without(kept))
        going = ours.without(kept).owned
        kept = retained.leave(op, {ref: ours.owned[ref] for ref in kept}, kept)
        _look_again(op, {last} & going.keys(), going)
        if last not in going:
            op.ledger.retire()
    op.ledger.forget()
    if last in going:
        with op.telling():
            takeback.take_namespace(op, {last: going[last]})
    stay = found.remaining(going)
    done = dict.fromkeys(left, Action.RELEASED)
    done.update(dict.fromkeys([*kept, *stay], Action.KEPT))
    return op.report(done, {**left, **kept, **stay})


def _check(
    op: Operation,
    kept: Mapping[ObjectRef, str],
    going: Mapping[ObjectRef, str],
    claims_kept: Collection[ObjectRef],
) -> None:
    """Refuse a request that cannot be fulfilled, before any delete.

    :param claims_kept: claims that have to be retained.
    """
    op.options = dataclasses.replace(
        op.options,
        remove_finalizers=finalizers.checked(
            op.cluster,
            op.options.remove_finalizers,
            going,
            op.instance,
            op.namespace,
        ),
    )
    stay = {*kept, *claims_kept}
    if along := leave.going_along(op.cluster, stay, going):
        raise errors.NotKept(along)
    carry.refuse_losses(op, going)


def _look_again(
    op: Operation, refs: Collection[ObjectRef], going: Mapping[ObjectRef, str]
) -> None:
    """Refuse what others have made since the first look, and would go along.

    What takes others along goes last, be it half an hour after that look.
    """
    along = (placing.DEFINITION, placing.NAMESPACE)
    if op.deadline.now - op.begun < carry.AGAIN:
        return
    if any(ref.group_kind in along for ref in refs):
        carry.refuse_losses(op, going, begun=True)


def _clear(
    op: Operation,
    stage: plan.Stage,
    manifests: Mapping[ObjectRef, Manifest],
) -> None:
    """Remove in workload clusters what their Clusters would leave behind."""
    registry = op.progress.registry
    for ref in stage.refs:
        if not registry[ref.group_kind].alone:
            continue
        what = op.options.clear
        if what is None:
            said = objects.annotation(manifests.get(ref, {}), CLEAR)
            what = frozenset([said] if said else ())
        if what:
            try:
                clearing.cleared(
                    op.cluster,
                    ref,
                    what,
                    op.deadline,
                    listen=op.listen,
                    guard=op.ledger.check,
                )
            except errors.NotCleared as error:
                op.uncertain = op.uncertain or error.begun
                raise


def _ended_without_record(op: Operation, *, keeping: bool) -> Report:
    """Delete objects with the label of an instance whose record is missing.

    A process may have died before writing the record, a user may have
    deleted it, or a write without an answer may have been carried out
    after the end. Objects that only have the label are left and named.
    """
    last = carry.namespace(op.home)
    kept: dict[ObjectRef, str] = {}
    with op.ledger.unrecorded(op.deadline), op.telling():
        ours, doubtful = takeback.marked(op)
        pieces = strays.remove(op.ledger.writing, op.instance, op.home)
        if not ours and not doubtful and not pieces:
            raise errors.InstanceUnknown(op.instance, op.home)
        live = dict(raised(op.cluster.each(op.cluster.get, ours)))
        manifests = {ref: obj for ref, obj in live.items() if obj}
        said = {}
        if keeping:
            said = staying.said(
                ours,
                manifests,
                policies.DEFAULT,
                op.options.on_terminate,
                op.options.on_terminate_else,
            )
        retention = retained.retention(policies.DEFAULT, op.options, keeping)
        inventory = Inventory(
            op.instance,
            op.namespace,
            owned=ours,
            claim_rules=claims.derive_rules(op, live.values(), retention),
        )
        kept, found = retained.find(op, inventory, retention, manifests, said)
        going = {ref: uid for ref, uid in ours.items() if ref not in kept}
        cleanup = claims.cleanup(op, inventory, retention, kept)
        cleanup.check_permissions()
        _check(op, kept, going, found.decisions.requested)
        home = {ref: going.pop(ref) for ref in (last,) if ref in going}
        # What authors have said of their order is on the objects, too.
        order = barriers.recorded(manifests)
        registry = op.progress.registry
        stages = plan.terminate(going, registry, order=order).stages
        # Without a record, claims are known only as long as their
        # StatefulSets exist.
        cleanup.request_deletion(found)
        for stage, due in cleanup.interleave(stages):
            late = cleanup.delete(due)
            found = found.merge(late)
            kept = retained.with_required(kept, late, ours, manifests, said)
            if stage:
                _clear(op, stage, manifests)
                rest = stage.without(kept).steps
                steps = [s for s in rest if isinstance(s, plan.Delete)]
                staging.take_away(op, steps, stage.name)
        kept = retained.leave(op, {ref: ours[ref] for ref in kept}, kept)
    with op.telling():
        takeback.take_namespace(op, home)
        if doubtful:
            named = ", ".join(map(str, sorted(doubtful)))
            raise errors.InstanceExists(
                op.instance,
                f"has no record, and may have made what is left: {named}",
            )
    kept = {**kept, **found.remaining(home)}
    return op.report(dict.fromkeys(kept, Action.KEPT), kept)
