"""Bring the first package of an instance in."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr import policy as policies
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm import carry
from tacker_k8s_cr.lcm import givers
from tacker_k8s_cr.lcm import intended
from tacker_k8s_cr.lcm import preflight
from tacker_k8s_cr.lcm import prepare
from tacker_k8s_cr.lcm import size as sizes
from tacker_k8s_cr.lcm import takeback
from tacker_k8s_cr.lcm import taking
from tacker_k8s_cr.lcm.operation import Listen
from tacker_k8s_cr.lcm.operation import Operation
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
    :param scale_levels: level of each scaling aspect, instead of ``level``.
        VDUs then have their initial delta and what the steps add, as in
        Tacker's v1 API; VduInstantiationLevels is not read.
    :param vdu_mapping: by VDU id, the object that it is, where neither its
        name nor an annotation says so.
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
    op.report_checking(len(package.documents))
    ready = prepare.prepared(
        op.cluster,
        package,
        before,
        registry,
        options,
        policy=policy,
        size=sizes.at_instantiate(package.vnfd, level, scale_levels),
        fixed=True,
        vdu_mapping=vdu_mapping,
    )
    op.knowing(ready.registry)
    op.warn(ready.warnings)
    # What an earlier try made, and this package does not name, goes.
    planned = carry.planned(op, ready, before, policy)
    some = givers.of_package(op, ready)
    made = carry.record_namespace(op, planned)
    inventory = intended.with_package(
        before.owning(made), package, ready, policy, options.adopt
    )
    refused: errors.Error | None = None
    try:
        with givers.locked(op, some) as let_go:
            try:
                inventory = taking.handed_over(op, inventory, some)
                let_go()
                carry.bring_in(op, planned.without(made), ready, inventory)
                op.ledger.rest(taking.settled(op.inventory))
            except carry.REFUSALS as error:
                if before.owned:  # what a former try made is not ours to undo
                    raise
                refused = error
                op.ledger.note(error, deadline)
                created = list(op.actions.values()).count(Action.CREATED)
                takeback.take_back(op)
                if op.ledger.entry is None:
                    error.undone = created
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
