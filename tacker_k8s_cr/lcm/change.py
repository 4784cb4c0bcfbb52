"""Change the package of an instance, or forecast the change."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import logging

from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.lcm import forecast as forecasts
from tacker_k8s_cr.lcm.changing import version_step
from tacker_k8s_cr.lcm.changing.version_step import VersionStep
from tacker_k8s_cr.lcm.execution import execute
from tacker_k8s_cr.lcm.execution import plan_change
from tacker_k8s_cr.lcm.machines import machine_annotations
from tacker_k8s_cr.lcm.preparation import prepare
from tacker_k8s_cr.lcm.preparation import scale_levels as sizes
from tacker_k8s_cr.lcm.preparation import target_inventory
from tacker_k8s_cr.lcm.preparation.prepared import PackageChoices
from tacker_k8s_cr.lcm.preparation.prepared import Prepared
from tacker_k8s_cr.lcm.preparation.scale_levels import Size
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import remaining_claims
from tacker_k8s_cr.lcm.transfer import adopt_from
from tacker_k8s_cr.lcm.transfer import source_instances
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.plan.forecast import Forecast
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.steps import Plan

LOG = logging.getLogger(__name__)

ChosenPolicy = Policy | Callable[[Policy], Policy] | None
"""A policy, or a function of the instance's policy; None to retain that."""

OnForecast = Callable[[Forecast], None]


def change(
    request: Request,
    package: Package,
    *,
    vdu_mapping: Mapping[str, str] | None = None,
    policy: ChosenPolicy = None,
    size: Size | None = None,
    on_forecast: OnForecast | None = None,
) -> Report:
    """Replace the package; then delete what the new one does not contain.

    Custom resource definitions, namespaces, volume claims and Clusters are
    retained unless the former manifest specifies ``prune: "true"``, or the
    policy names them. Replica counts stay unchanged. The former state is
    recorded for ``roll_back``.

    :param policy: replaces the policy of the instance.
    :param size: scale levels, and replica counts of VDUs that later scale
        operations count from; None keeps those of the instance. Replica counts
        of existing objects stay unchanged in any case.
    :param on_forecast: called before the first write with the Machines that
        will be replaced, and what is irreversible. An error that it raises
        ends the change.

    Raises RolloutRefused if the options refuse to replace Machines.
    """
    op = Session("change", request)
    arguments = package, vdu_mapping, policy, size
    checked = _check_and_plan(op, *arguments, complete=False)
    op.warn(checked.ready.warnings)
    _report_forecast(op, checked.forecast, on_forecast)
    if checked.upgrade:
        with op.locked():
            version_step.apply_versions(op, checked.upgrade)
            checked = _check_and_plan(
                op, *arguments, complete=False, with_version_step=False
            )
    ready, planned = checked.ready, checked.planned
    inventory = dataclasses.replace(
        target_inventory.target_inventory(
            checked.before,
            package,
            ready,
            checked.policy,
            request.options.adopt,
        ),
        phase=Phase.CHANGING,
        previous_package=checked.before.rollback_point(package.digest),
        former_replicas={},
        former_limits={},
        healing=None,
    )
    sources = source_instances.transfer_sources(op, ready)
    with source_instances.lock_all(op, sources) as release_sources:
        annotated = machine_annotations.remove_annotations(op, op.inventory)
        inventory = dataclasses.replace(
            inventory, machines_to_delete=annotated
        )
        inventory = adopt_from.transfer_objects(op, inventory, sources)
        release_sources()
        newly_shared = execute.execute(op, planned, ready, inventory)
        op.ledger.save_idle(adopt_from.finalize(op.inventory))
    for ref, why in ready.recreated.items():
        op.actions[ref] = Action.RECREATED
        op.notes[ref] = (why,)
    shared = dict.fromkeys(ready.owners.shared, Action.SHARED)
    retained = {
        **planned.retained,
        **newly_shared,
        **remaining_claims.find_remaining_claims(op),
    }
    return op.report(
        {**shared, **dict.fromkeys(retained, Action.RETAINED)}, retained
    )


def forecast(
    request: Request,
    package: Package,
    *,
    vdu_mapping: Mapping[str, str] | None = None,
    policy: ChosenPolicy = None,
) -> Forecast:
    """Return what ``change`` would do with these arguments. Writes nothing.

    Raises the errors that the change would raise before its first write.
    """
    op = Session("forecast", request)
    arguments = package, vdu_mapping, policy, None
    checked = _check_and_plan(op, *arguments, complete=True)
    return dataclasses.replace(
        checked.forecast,
        seconds=request.deadline.now - op.begun,
        requests=op.cluster.requests - op.requests,
    )


@dataclasses.dataclass(frozen=True)
class _CheckedChange:
    """A change that is checked, planned and forecast."""

    before: Inventory
    policy: Policy
    ready: Prepared
    planned: Plan
    forecast: Forecast
    upgrade: VersionStep | None


def _check_and_plan(
    op: Session,
    package: Package,
    vdu_mapping: Mapping[str, str] | None,
    policy: ChosenPolicy,
    size: Size | None,
    *,
    complete: bool,
    with_version_step: bool = True,
) -> _CheckedChange:
    op.ledger.read(
        Phase.INSTANTIATED, Phase.CHANGING, Phase.SCALING, Phase.HEALING
    )
    op.require_supported("change")
    before = execute.recovered_inventory(op)
    if policy is None:
        policy = before.policy
    elif not isinstance(policy, Policy):
        policy = policy(before.policy)
    op.report_checking(len(package.documents))
    ready = prepare.prepare(
        op,
        package,
        before,
        PackageChoices(
            policy,
            size or sizes.at_change(package.vnfd, before),
            vdu_mapping=vdu_mapping,
        ),
        keep_predicted=_all if complete else forecasts.may_roll_or_lose,
    )
    op.use_registry(ready.registry)
    # These were sent when the instance was instantiated.
    ready = dataclasses.replace(ready, requests=())
    planned = plan_change.plan_change(op, ready, before, policy)
    step = None
    if with_version_step and contract.uses_cluster_api(
        item.ref for item in ready.items
    ):
        step = version_step.plan_version_step(
            op, before, ready, package.digest, op.request.registry
        )
    forecast = forecasts.build_forecast(
        op, before, ready, planned, complete=complete
    )
    if step:
        forecast = forecast.with_reasons(
            dict.fromkeys(step.upgraded, version_step.REASON)
        )
    return _CheckedChange(before, policy, ready, planned, forecast, step)


def _all(ref: ObjectRef) -> bool:
    return True


def _report_forecast(
    op: Session, checked: Forecast, on_forecast: OnForecast | None
) -> None:
    """Log replaced Machines and irreversible effects before the change."""
    for ref, rollout in checked.rollouts.items():
        op.notes[ref] = (str(rollout),)
    if op.options.rollout == "refuse" and checked.replaced:
        raise errors.RolloutRefused(
            {ref: str(rollout) for ref, rollout in checked.replaced.items()}
        )
    for line in checked.warnings:
        LOG.info("%s: %s: %s", op.instance, op.name, line)
    if on_forecast:
        on_forecast(checked)
