"""Bring a package in: the first one, or one in the place of another."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr import policy as policies
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm import carry
from tacker_k8s_cr.lcm import preflight
from tacker_k8s_cr.lcm import prepare
from tacker_k8s_cr.lcm import takeback
from tacker_k8s_cr.lcm.operation import Listen
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.lcm.prepare import Prepared
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import DEFAULT
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.policy import Policy
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.report import Report


def instantiate(
    cluster: Cluster,
    instance: str,
    package: Package,
    *,
    namespace: str = "default",
    record_namespace: str = "",
    deadline: Deadline,
    registry: Registry = kinds.BUILT_IN,
    level: str = "",
    scale_levels: Mapping[str, int] | None = None,
    vdu_mapping: Mapping[str, str] | None = None,
    policy: Policy = policies.DEFAULT,
    options: Options = DEFAULT,
    listen: Listen | None = None,
) -> Report:
    """Bring a package to life; returns when all of it is current.

    An instance whose instantiation ended early is taken up where it
    stopped. If an object is refused half way, what was made is removed.

    :param namespace: where objects go that name none.
    :param record_namespace: where the record lies, if not there. Every
        later call for the instance has to name it, and may leave the
        namespace out.
    :param level: instantiation level of the VNFD; empty for its default.
    :param scale_levels: level of each scaling aspect, in the level's place.
    :param vdu_mapping: by VDU id, the object that bears its number, where
        neither its name nor an annotation says so.
    :param policy: what the request says on the package as a whole.

    Raises any error of ``errors``; its ``written`` says what was left.
    """
    op = Operation(
        "instantiate",
        cluster,
        instance,
        namespace,
        deadline,
        options,
        listen,
        record_namespace,
    )
    with preflight.reading(op.cluster, op.home, wanted=options.check_rights):
        op.ledger.read()
    before = Inventory(instance, op.namespace, record=op.elsewhere)
    if op.ledger.entry:
        before = carry.taken_up(op)
        if before.phase is not Phase.INSTANTIATING:
            raise errors.InstanceExists(
                instance, f"is there already: it is {before.phase.value}"
            )
    ready = prepare.prepared(
        op.cluster,
        package,
        before,
        registry,
        options,
        policy=policy,
        level=level,
        fixed=True,
        scale_levels=scale_levels,
        vdu_mapping=vdu_mapping,
    )
    op.knowing(ready.registry)
    # What an earlier try made, and this package does not name, goes.
    planned = carry.planned(op, ready, before, policy)
    made = carry.record_namespace(op, planned)
    inventory = _with_package(
        before.owning(made), package, ready, policy, options.adopt
    )
    refused: errors.Error | None = None
    try:
        with op.locked():
            try:
                carry.bring_in(op, planned.without(made), ready, inventory)
                op.ledger.rest()
            except carry.REFUSALS as error:
                if before.owned:  # what a former try made is not ours to undo
                    raise
                refused = error
                op.ledger.note(error, deadline)
                takeback.take_back(op)
    except errors.Error as error:
        if op.ledger.entry is None:
            takeback.take_back_namespace(op, made)
            op.tell(error)
        raise
    if refused:
        if op.ledger.entry is None:
            takeback.take_back_namespace(op, made)
        op.tell(refused)
        raise refused
    return op.report(dict.fromkeys(ready.owners.shared, Action.SHARED))


def change(
    cluster: Cluster,
    instance: str,
    package: Package,
    *,
    namespace: str = "",
    record_namespace: str = "",
    deadline: Deadline,
    registry: Registry = kinds.BUILT_IN,
    vdu_mapping: Mapping[str, str] | None = None,
    policy: Policy | None = None,
    options: Options = DEFAULT,
    listen: Listen | None = None,
) -> Report:
    """Replace the package; then take away what the new one does not name.

    Custom resource definitions, namespaces, volume claims and Clusters are
    kept unless the former manifest says ``prune: "true"``, or the policy
    names them. Numbers of replicas stay as they are. What was before is
    kept for ``roll_back``.

    :param policy: in the place of that of the instance; None to keep it.
    """
    op = Operation(
        "change",
        cluster,
        instance,
        namespace,
        deadline,
        options,
        listen,
        record_namespace,
    )
    op.ledger.read(
        Phase.INSTANTIATED, Phase.CHANGING, Phase.SCALING, Phase.HEALING
    )
    before = carry.taken_up(op)
    policy = before.policy if policy is None else policy
    ready = prepare.prepared(
        op.cluster,
        package,
        before,
        registry,
        options,
        policy=policy,
        scale_levels=carry.levels(package, before),
        vdu_mapping=vdu_mapping,
    )
    op.knowing(ready.registry)
    planned = carry.planned(op, ready, before, policy)
    inventory = dataclasses.replace(
        _with_package(before, package, ready, policy, options.adopt),
        phase=Phase.CHANGING,
        before=before.past(package.digest),
        scaling={},
        healing=None,
    )
    with op.locked():
        carry.bring_in(op, planned, ready, inventory)
        op.ledger.rest()
    others = dict.fromkeys(ready.owners.shared, Action.SHARED)
    return op.report({**others, **dict.fromkeys(planned.kept, Action.KEPT)})


def _with_package(
    inventory: Inventory,
    package: Package,
    ready: Prepared,
    policy: Policy,
    adopted: frozenset[ObjectRef],
) -> Inventory:
    """The inventory of an instance that is to be as the package says."""
    named = {ObjectRef.of(manifest) for manifest in ready.authored}
    numbers = inventory.numbers
    live = ready.owners.live
    taken = {ref: live[ref].uid for ref in adopted & live.keys()}
    return dataclasses.replace(
        # Known before it is written: that it is not ours by birth would hide
        # it after a crash, with our mark on it.
        inventory.owning(taken),
        policy=policy,
        digest=package.digest,
        met=inventory.met | taken.keys(),
        numbers={ref: n for ref, n in numbers.items() if ref in named},
        shared=tuple(sorted(ready.owners.shared)),
        manifests=ready.authored,
        live_names=ready.live_names,
        vnfd=package.vnfd or inventory.vnfd,
        vdus=ready.vdus or inventory.vdus,
        scale_levels=ready.scale_levels,
    )
