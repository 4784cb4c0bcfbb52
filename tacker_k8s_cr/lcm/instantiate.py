"""Instantiate a package."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.kinds import policy as policies
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.execution import plan_change
from tacker_k8s_cr.lcm.execution import undo
from tacker_k8s_cr.lcm.preparation import permissions_check
from tacker_k8s_cr.lcm.preparation import prepare
from tacker_k8s_cr.lcm.preparation import prepared
from tacker_k8s_cr.lcm.preparation import scale_levels as sizes
from tacker_k8s_cr.lcm.preparation import target_inventory
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.session import DEFAULT_NAMESPACE
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.transfer import adopt_from
from tacker_k8s_cr.lcm.transfer import source_instances
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase


def instantiate(
    request: Request,
    package: Package,
    *,
    level: str = "",
    scale_levels: Mapping[str, int] | None = None,
    vdu_mapping: Mapping[str, str] | None = None,
    policy: Policy = policies.DEFAULT,
) -> Report:
    """Instantiate a package; return when all its objects are current.

    An instance whose instantiation ended early is continued where it stopped.
    If an object is refused, the already created ones are deleted.

    :param level: instantiation level of the VNFD; empty for its default.
    :param scale_levels: level of each scaling aspect, instead of ``level``.
        VDUs then have their initial delta and what the steps add, as in
        Tacker's v1 API; VduInstantiationLevels is not read.
    :param vdu_mapping: by VDU id, its object, where neither the name nor an
        annotation of the object specifies it.
    :param policy: the request's settings for the package as a whole.

    Raises any error of ``errors``; its ``written`` lists remaining objects.
    """
    namespace = request.namespace or DEFAULT_NAMESPACE
    request = dataclasses.replace(request, namespace=namespace)
    op = Session("instantiate", request)
    with permissions_check.read_permissions(
        op.cluster,
        op.record_namespace,
        wanted=request.options.check_permissions,
    ):
        op.ledger.read()
    before = Inventory(
        request.instance,
        op.namespace,
        separate_record_namespace=op.separate_record_namespace,
    )
    if op.ledger.entry:
        before = execute.recovered_inventory(op)
        if before.phase is not Phase.INSTANTIATING:
            raise errors.InstanceExists(request.instance, before.phase.value)
    op.report_checking(len(package.documents))
    size = sizes.at_instantiate(package.vnfd, level, scale_levels)
    choices = prepared.PackageChoices(policy, size, True, vdu_mapping)
    ready = prepare.prepare(op, package, before, choices)
    op.use_registry(ready.registry)
    op.warn(ready.warnings)
    # Objects of an earlier attempt that the package no longer contains are
    # deleted.
    planned = plan_change.plan_change(op, ready, before, policy)
    sources = source_instances.transfer_sources(op, ready)
    created_namespaces = execute.create_record_namespace(op, planned)
    inventory = target_inventory.target_inventory(
        before.with_owned(created_namespaces),
        package,
        ready,
        policy,
        request.options.adopt,
    )
    refused: errors.Error | None = None
    try:
        with source_instances.lock_all(op, sources) as release_sources:
            try:
                inventory = adopt_from.transfer_objects(op, inventory, sources)
                release_sources()
                execute.execute(
                    op, planned.without(created_namespaces), ready, inventory
                )
                op.ledger.save_idle(adopt_from.finalize(op.inventory))
            except execute.REFUSALS as error:
                if before.owned:  # keep an earlier attempt's objects
                    raise
                refused = error
                op.ledger.record_error(error, request.deadline)
                created_count = list(op.actions.values()).count(Action.CREATED)
                undo.undo(op)
                if op.ledger.entry is None:
                    error.undone = created_count
    except errors.Error as error:
        if op.ledger.entry is None:
            undo.delete_created_namespace(op, created_namespaces)
            op.annotate_error(error)
        raise
    if refused:
        if op.ledger.entry is None:
            undo.delete_created_namespace(op, created_namespaces)
        op.annotate_error(refused)
        raise refused
    return op.report(dict.fromkeys(ready.owners.shared, Action.SHARED))
