"""Plan a package against what an instance has, and carry it out."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import contextlib
import dataclasses

from tacker_k8s_cr.engine import delete
from tacker_k8s_cr.engine import dry_run
from tacker_k8s_cr.engine import retained_objects
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.lcm.execution import template_retention
from tacker_k8s_cr.lcm.preparation import existing_objects
from tacker_k8s_cr.lcm.preparation import permissions_check
from tacker_k8s_cr.lcm.preparation.prepare import Prepared
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import claims
from tacker_k8s_cr.lcm.stages import stage_runner
from tacker_k8s_cr.lcm.stages import wait_topology
from tacker_k8s_cr.lcm.transfer import adopt_from
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.plan import prune
from tacker_k8s_cr.plan import references
from tacker_k8s_cr.plan import waves
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.state import other_instances

REFUSALS = (
    errors.Rejected,
    errors.FieldConflict,
    errors.DryRunFailed,
    errors.OwnedByOther,
    errors.Forbidden,
    errors.KindNotServed,
)
"""Errors that waiting cannot resolve: the operation is undone."""


MET = "it was taken over from others; the instance's end leaves it to them"
"""Why a change of package keeps an object that it no longer names."""

RETAINED = "the package still has it, in a file that was not selected"
"""The same for an object of ``Options.retain``."""


def namespace(name: str) -> ObjectRef:
    return ObjectRef("", "Namespace", "", name)


def plan_change(
    op: Session, ready: Prepared, before: Inventory, policy: Policy
) -> plan.Plan:
    """Return the plan of a package that replaces what the instance has."""
    op.places = {item.ref: item.where for item in ready.items}
    manifests = manifest_annotations.manifests(before)
    dropped = before.owned.keys() - {item.ref for item in ready.items}
    kept = shared_with_others(op, dropped, manifests)
    # Other clients created them: a change of this instance must not delete
    # them.
    kept.update(dict.fromkeys(dropped & before.preexisting, MET))
    kept.update(
        template_retention.templates_in_use(op.cluster, ready.items, dropped)
    )
    asked = manifest_annotations.prune_annotations(before, policy)
    pruned = {ref for ref in dropped if asked.get(ref)}
    kept.update(claims.volumes_in_use(op, dropped, pruned))
    retained = {
        ref for ref in dropped & op.options.retain if not asked.get(ref)
    }
    kept.update(dict.fromkeys(retained, RETAINED))
    former = prune.CurrentState(
        before.owned,
        namespace(op.home),
        asked,
        placement.kinds_by_crd(manifests.values()),
        references.references(manifests),
        waves.recorded_order(manifests),
        kept,
        ready.recreated,
    )
    found = plan.change(
        ready.items,
        ready.registry,
        former,
        ready.owners.live,
        ready.owners.terminating,
        ready.order,
        ready.requests,
    )
    gone = {
        step.ref: step.uid
        for stage in found.stages
        for step in stage.steps
        if isinstance(step, plan.Delete)
    }
    permissions_check.require_delete(
        op.cluster, gone, wanted=op.options.check_permissions
    )
    refuse_foreign_deletion(op, gone)
    return found


def shared_with_others(
    op: Session,
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
    op: Session,
    refs: Collection[ObjectRef],
    manifests: Mapping[ObjectRef, Manifest],
    said: Mapping[ObjectRef, tuple[bool, str]],
) -> dict[ObjectRef, str]:
    """What is not to be deleted, by object why: it is said, or used."""
    shared = {}
    if not op.options.delete_foreign_objects:
        shared = other_instances.shared_refs(
            op.cluster, op.instance, refs, op.home
        )
    stay = {ref: (True, why) for ref, why in shared.items()}
    return retained_objects.find_retained(refs, manifests, {**said, **stay})


def refuse_foreign_deletion(
    op: Session, going: Mapping[ObjectRef, str], *, begun: bool = False
) -> None:
    """Raise ForeignObjects if objects of other owners would be deleted too.

    :param begun: some of the objects have been deleted already.
    """
    if op.options.delete_foreign_objects:
        return
    entry = op.ledger.entry
    others = delete.find_foreign_dependents(
        op.cluster,
        going,
        op.instance,
        in_progress=begun,
        rules=entry.inventory.claim_rules if entry else (),
    )
    if others:
        raise errors.ForeignObjects(others)


def record_namespace(op: Session, planned: plan.Plan) -> dict[ObjectRef, str]:
    """Create the namespace of the record, if the package contains it.

    It is a separate stage, before a record can exist. A later run recognizes
    the namespace by its label and field manager.
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
        stage_runner.apply_stage(op, steps, "namespace of the record")
        return {ref: op.progress.awaited[ref].uid}
    if any(ref.namespace == op.home for ref in op.places):
        return {}  # it was looked for with the namespaces of all objects
    # Who may not look finds out by the Lease, which is written first.
    with contextlib.suppress(errors.Forbidden):
        if op.cluster.get_metadata(ref) is None:
            raise errors.NamespaceNotFound(
                {op.home: [f"the record of {op.instance}"]}, op.home
            )
    return {}


def execute(
    op: Session,
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
        inventory = stage_runner.entering(op, planned.stages[0], inventory)
    op.ledger.write(inventory)
    before = (
        inventory.previous_package.shared if inventory.previous_package else ()
    )
    existing_objects.confirm_shared_owners(
        op.cluster, ready.owners.shared.difference(before)
    )
    op.expect_kinds(ready.expected)
    not_yet = ready.not_yet
    for stage in planned.stages:
        if not_yet and stage.name != plan.DEFINITIONS:
            not_yet = _again(
                op.cluster,
                ready,
                not_yet,
                stage,
                op.instance,
                op.options.field_conflicts,
            )
        kept.update(_spared(op, stage, inventory))
        stage_runner.run_stage(op, stage.without(kept))
        not_yet -= set(stage.refs)
        wait_served(op, stage)
    wait_topology.wait_topology(op)
    return kept


AGAIN = 10.0
"""Seconds from which on an operation has taken so long that what others have
is looked at again, before anything is deleted."""


def _spared(
    op: Session, stage: plan.Stage, inventory: Inventory
) -> dict[ObjectRef, str]:
    """Of what a stage deletes, what others share by now: by whom."""
    before = inventory.previous_package
    going = {
        step.ref: step.uid
        for step in stage.steps
        if isinstance(step, plan.Delete)
    }
    if not going or not before or op.deadline.now - op.begun < AGAIN:
        return {}
    found = shared_with_others(
        op, going, manifest_annotations.manifests(before)
    )
    rest = {ref: uid for ref, uid in going.items() if ref not in found}
    refuse_foreign_deletion(op, rest, begun=True)
    return found


def _again(
    cluster: Cluster,
    before: Prepared,
    not_yet: frozenset[ObjectRef],
    stage: plan.Stage,
    instance: str,
    field_conflicts: str,
) -> frozenset[ObjectRef]:
    """Repeat the dry run of objects that could not be checked before.

    :param stage: the next one. Objects of later stages, or that depend on
        other objects, may still be rejected because those do not exist.

    Objects that still cannot be checked are returned. In the end the apply
    checks them, and retries.
    """
    checked = dry_run.dry_run(
        cluster,
        [item for item in before.items if item.ref in not_yet],
        instance,
        before.owners.live,
        dry_run.DryRunContext(
            waiting={
                ref
                for ref in not_yet
                if ref in before.order.needs or ref not in stage.refs
            },
            packaged=dry_run.names_of(item.ref for item in before.items),
        ),
        field_conflicts=field_conflicts,
    )
    checked.check_refusals()
    return checked.not_yet


def wait_served(op: Session, stage: plan.Stage) -> None:
    """Wait until the kinds that a stage brought are served."""
    op.served(
        step.manifest for step in stage.steps if isinstance(step, plan.Apply)
    )


def recovered_inventory(op: Session) -> Inventory:
    """The inventory, with what a crash left between a write and it."""
    left = existing_objects.recover_unrecorded(op.cluster, op.inventory)
    return adopt_from.resolve_interrupted(
        op.cluster, op.inventory.with_owned(left)
    )
