"""Plan a package against what an instance has, and carry it out."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import contextlib
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr.applying import owners
from tacker_k8s_cr.applying import trial
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.lcm import claims
from tacker_k8s_cr.lcm import lingering
from tacker_k8s_cr.lcm import preflight
from tacker_k8s_cr.lcm import staging
from tacker_k8s_cr.lcm import taking
from tacker_k8s_cr.lcm import topologies
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.lcm.prepare import Prepared
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning import authored
from tacker_k8s_cr.planning import barriers
from tacker_k8s_cr.planning import needs
from tacker_k8s_cr.planning import placing
from tacker_k8s_cr.planning import plan
from tacker_k8s_cr.planning import pruning
from tacker_k8s_cr.policy import Policy
from tacker_k8s_cr.recording import neighbours
from tacker_k8s_cr.terminating import remove
from tacker_k8s_cr.terminating import staying

REFUSALS = (
    errors.Rejected,
    errors.Conflict,
    errors.Refused,
    errors.Owned,
    errors.Forbidden,
    errors.KindUnknown,
)
"""Errors that waiting cannot help: what was begun is taken back."""


MET = "it was taken over from others; the instance's end leaves it to them"
"""Why a change of package keeps an object that it no longer names."""

RETAINED = "the package still has it, in a file that was not selected"
"""The same for an object of ``Options.retain``."""


def namespace(name: str) -> ObjectRef:
    return ObjectRef("", "Namespace", "", name)


def planned(
    op: Operation, ready: Prepared, before: Inventory, policy: Policy
) -> plan.Plan:
    """The plan of a package in the place of what the instance has."""
    op.places = {item.ref: item.where for item in ready.items}
    manifests = authored.manifests(before)
    dropped = before.owned.keys() - {item.ref for item in ready.items}
    kept = used(op, dropped, manifests)
    # Somebody else made them: a change of ours is no reason to lose them.
    kept.update(dict.fromkeys(dropped & before.met, MET))
    kept.update(lingering.needed(op.cluster, ready.items, dropped))
    asked = authored.asked_to_prune(before, policy)
    pruned = {ref for ref in dropped if asked.get(ref)}
    kept.update(claims.volumes_in_use(op, dropped, pruned))
    retained = {
        ref for ref in dropped & op.options.retain if not asked.get(ref)
    }
    kept.update(dict.fromkeys(retained, RETAINED))
    former = pruning.Former(
        before.owned,
        namespace(op.home),
        asked,
        placing.defines(manifests.values()),
        needs.needs(manifests),
        barriers.recorded(manifests),
        kept,
    )
    found = plan.change(
        ready.items,
        ready.registry,
        former,
        ready.owners.live,
        ready.owners.going,
        ready.order,
        ready.recreated,
        ready.requests,
    )
    gone = {
        step.ref: step.uid
        for stage in found.stages
        for step in stage.steps
        if isinstance(step, plan.Delete)
    }
    preflight.deleting(op.cluster, gone, wanted=op.options.check_rights)
    refuse_losses(op, gone)
    return found


def used(
    op: Operation,
    refs: Collection[ObjectRef],
    manifests: Mapping[ObjectRef, Manifest],
) -> dict[ObjectRef, str]:
    """Of what is to be deleted, what other instances share: by whom.

    With what serves it, as long as that is to be deleted, too.
    """
    found = stays(op, refs, manifests, {})
    op.notes.update({ref: (why,) for ref, why in found.items()})
    return found


def stays(
    op: Operation,
    refs: Collection[ObjectRef],
    manifests: Mapping[ObjectRef, Manifest],
    said: Mapping[ObjectRef, tuple[bool, str]],
) -> dict[ObjectRef, str]:
    """What is not to be deleted, by object why: it is said, or used."""
    shared = {}
    if not op.options.lose_others:
        shared = neighbours.used(op.cluster, op.instance, refs, op.home)
    stay = {ref: (True, why) for ref, why in shared.items()}
    return staying.staying(refs, manifests, {**said, **stay})


def refuse_losses(
    op: Operation, going: Mapping[ObjectRef, str], *, begun: bool = False
) -> None:
    """Raise WouldBeLost for what would go along and is not the instance's.

    :param begun: some of it is gone already.
    """
    if op.options.lose_others:
        return
    entry = op.ledger.entry
    others = remove.foreign(
        op.cluster,
        going,
        op.instance,
        begun=begun,
        rules=entry.inventory.claim_rules if entry else (),
    )
    if others:
        raise errors.WouldBeLost(others)


def record_namespace(
    op: Operation, planned: plan.Plan
) -> dict[ObjectRef, str]:
    """Make the namespace of the record, if the package brings it.

    It is a stage of its own, before there can be a record. Its label and
    manager are what a later run knows it by.
    """
    ref = namespace(op.home)
    steps = [
        # It can wait for nothing: there is no record before it.
        dataclasses.replace(step, after=frozenset())
        for stage in planned.stages
        for step in stage.steps
        if step.ref == ref and isinstance(step, plan.Apply)
    ]
    if steps:
        staging.bring_in(op, steps, "namespace of the record")
        return {ref: op.progress.awaited[ref].uid}
    if any(ref.namespace == op.home for ref in op.places):
        return {}  # it was looked for with the namespaces of all objects
    # Who may not look finds out by the Lease, which is written first.
    with contextlib.suppress(errors.Forbidden):
        if op.cluster.get_metadata(ref) is None:
            raise errors.NamespaceAbsent(
                {op.home: [f"the record of {op.instance}"]}, op.home
            )
    return {}


def bring_in(
    op: Operation,
    planned: plan.Plan,
    ready: Prepared,
    inventory: Inventory,
) -> dict[ObjectRef, str]:
    """Carry out the stages, and wait for all that they applied.

    Returns what was to be deleted and is kept, since others began to share
    it meanwhile: why.
    """
    kept: dict[ObjectRef, str] = {}
    if planned.stages:
        # With the journal of the first stage, which comes at once.
        inventory = staging.entering(op, planned.stages[0], inventory)
    op.ledger.write(inventory)
    before = inventory.before.shared if inventory.before else ()
    owners.confirm(op.cluster, ready.owners.shared.difference(before))
    op.expecting(ready.expected)
    not_yet = ready.not_yet
    for stage in planned.stages:
        if not_yet and stage.name != plan.DEFINITIONS:
            not_yet = _again(
                op.cluster,
                ready,
                not_yet,
                stage,
                op.instance,
                op.options.conflict,
            )
        kept.update(_spared(op, stage, inventory))
        staging.carry_out(op, stage.without(kept))
        not_yet -= set(stage.refs)
        served(op, stage)
    topologies.settled(op)
    return kept


AGAIN = 10.0
"""Seconds from which on an operation has taken so long that what others have
is looked at again, before anything is deleted."""


def _spared(
    op: Operation, stage: plan.Stage, inventory: Inventory
) -> dict[ObjectRef, str]:
    """Of what a stage deletes, what others share by now: by whom."""
    before = inventory.before
    going = {
        step.ref: step.uid
        for step in stage.steps
        if isinstance(step, plan.Delete)
    }
    if not going or not before or op.deadline.now - op.begun < AGAIN:
        return {}
    found = used(op, going, authored.manifests(before))
    rest = {ref: uid for ref, uid in going.items() if ref not in found}
    refuse_losses(op, rest, begun=True)
    return found


def _again(
    cluster: Cluster,
    before: Prepared,
    not_yet: frozenset[ObjectRef],
    stage: plan.Stage,
    instance: str,
    conflict: str,
) -> frozenset[ObjectRef]:
    """Repeat the dry run of what could not be checked before.

    :param stage: the next one. What is of a later one, or depends on other
        objects, may still be denied for what is not there.

    What is still not possible is returned. In the end that is left to the
    apply, which tries again.
    """
    checked = trial.dry_run(
        cluster,
        [item for item in before.items if item.ref in not_yet],
        instance,
        before.owners.live,
        later=(),
        absent=(),
        conflict=conflict,
        waiting={
            ref
            for ref in not_yet
            if ref in before.order.needs or ref not in stage.refs
        },
        brought=trial.names(item.ref for item in before.items),
    )
    checked.check()
    return checked.not_yet


def served(op: Operation, stage: plan.Stage) -> None:
    """Wait until the kinds that a stage brought are served."""
    op.served(
        step.manifest for step in stage.steps if isinstance(step, plan.Apply)
    )


def taken_up(op: Operation) -> Inventory:
    """The inventory, with what a crash left between a write and it."""
    left = owners.left_by_crash(op.cluster, op.inventory)
    return taking.resolved(op.cluster, op.inventory.owning(left))
