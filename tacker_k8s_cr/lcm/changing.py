"""Bring a package in, in the place of another; or say what that would do."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import logging

from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm import ahead
from tacker_k8s_cr.lcm import carry
from tacker_k8s_cr.lcm import claims
from tacker_k8s_cr.lcm import foreseen
from tacker_k8s_cr.lcm import givers
from tacker_k8s_cr.lcm import intended
from tacker_k8s_cr.lcm import marks
from tacker_k8s_cr.lcm import preflight
from tacker_k8s_cr.lcm import prepare
from tacker_k8s_cr.lcm import size as sizes
from tacker_k8s_cr.lcm import taking
from tacker_k8s_cr.lcm.ahead import Ahead
from tacker_k8s_cr.lcm.operation import Listen
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.lcm.prepare import Prepared
from tacker_k8s_cr.lcm.size import Size
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import DEFAULT
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.planning.forecast import Forecast
from tacker_k8s_cr.planning.plan import Plan
from tacker_k8s_cr.policy import Policy
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.report import Report

LOG = logging.getLogger(__name__)

ChosenPolicy = Policy | Callable[[Policy], Policy] | None
"""A policy, or what makes one of that of the instance; None to keep it."""

Foresee = Callable[[Forecast], None]


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
    policy: ChosenPolicy = None,
    size: Size | None = None,
    options: Options = DEFAULT,
    listen: Listen | None = None,
    foresee: Foresee | None = None,
) -> Report:
    """Replace the package; then take away what the new one does not name.

    Custom resource definitions, namespaces, volume claims and Clusters are
    kept unless the former manifest says ``prune: "true"``, or the policy
    names them. Numbers of replicas stay as they are. What was before is
    kept for ``roll_back``.

    :param policy: in the place of that of the instance.
    :param size: scale levels, and numbers of VDUs that later scale operations
        count from; None keeps those of the instance. Numbers of objects that
        exist stay in any case.
    :param foresee: told before anything is written which machines will be
        replaced, and what cannot be undone. An error that it raises ends
        the change.

    Raises WouldReplace if the options refuse to replace machines.
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
    asked = package, registry, vdu_mapping, policy, size
    found = _looked(op, *asked, whole=False)
    op.warn(found.ready.warnings)
    _tell(op, found.forecast, foresee)
    if found.ahead:
        with op.locked():
            ahead.bring_in(op, found.ahead)
            found = _looked(op, *asked, whole=False, stepping=False)
    ready, planned = found.ready, found.planned
    inventory = dataclasses.replace(
        intended.with_package(
            found.before, package, ready, found.policy, options.adopt
        ),
        phase=Phase.CHANGING,
        before=found.before.past(package.digest),
        scaling={},
        bounds={},
        healing=None,
    )
    some = givers.of_package(op, ready)
    with givers.locked(op, some) as let_go:
        stay = marks.taken_off(op, op.inventory)
        inventory = dataclasses.replace(inventory, leaving=stay)
        inventory = taking.handed_over(op, inventory, some)
        let_go()
        spared = carry.bring_in(op, planned, ready, inventory)
        op.ledger.rest(taking.settled(op.inventory))
    for ref, why in ready.recreated.items():
        op.actions[ref] = Action.RECREATED
        op.notes[ref] = (why,)
    others = dict.fromkeys(ready.owners.shared, Action.SHARED)
    kept = {**planned.kept, **spared, **claims.claims_left(op)}
    return op.report({**others, **dict.fromkeys(kept, Action.KEPT)}, kept)


def forecast(
    cluster: Cluster,
    instance: str,
    package: Package,
    *,
    namespace: str = "",
    record_namespace: str = "",
    deadline: Deadline,
    registry: Registry = kinds.BUILT_IN,
    vdu_mapping: Mapping[str, str] | None = None,
    policy: ChosenPolicy = None,
    options: Options = DEFAULT,
) -> Forecast:
    """What ``change`` would do with these arguments; writes nothing.

    It raises what the change would raise before its first write.
    """
    op = Operation(
        "forecast",
        cluster,
        instance,
        namespace,
        deadline,
        options,
        None,
        record_namespace,
    )
    asked = package, registry, vdu_mapping, policy, None
    found = _looked(op, *asked, whole=True)
    return dataclasses.replace(
        found.forecast,
        seconds=deadline.now - op.begun,
        requests=op.cluster.requests - op.requests,
    )


@dataclasses.dataclass(frozen=True)
class _Looked:
    """A change that is checked, planned and foreseen."""

    before: Inventory
    policy: Policy
    ready: Prepared
    planned: Plan
    forecast: Forecast
    ahead: Ahead | None


def _looked(
    op: Operation,
    package: Package,
    registry: Registry,
    vdu_mapping: Mapping[str, str] | None,
    policy: ChosenPolicy,
    size: Size | None,
    *,
    whole: bool,
    stepping: bool = True,
) -> _Looked:
    op.ledger.read(
        Phase.INSTANTIATED, Phase.CHANGING, Phase.SCALING, Phase.HEALING
    )
    preflight.supported(op.inventory, "change")
    before = carry.taken_up(op)
    if policy is None:
        policy = before.policy
    elif not isinstance(policy, Policy):
        policy = policy(before.policy)
    op.report_checking(len(package.documents))
    ready = prepare.prepared(
        op.cluster,
        package,
        before,
        registry,
        op.options,
        policy=policy,
        size=size or sizes.at_change(package.vnfd, before),
        vdu_mapping=vdu_mapping,
        keep=_all if whole else foreseen.matters,
    )
    op.knowing(ready.registry)
    # These were sent when the instance was instantiated.
    ready = dataclasses.replace(ready, requests=())
    planned = carry.planned(op, ready, before, policy)
    step = None
    if stepping:
        step = ahead.found(op, before, ready, package.digest, registry)
    forecast = foreseen.forecasted(op, before, ready, planned, whole=whole)
    if step:
        forecast = forecast.saying(dict.fromkeys(step.rising, ahead.WHY))
    return _Looked(before, policy, ready, planned, forecast, step)


def _all(ref: ObjectRef) -> bool:
    return True


def _tell(op: Operation, found: Forecast, foresee: Foresee | None) -> None:
    """Say before it happens what is not to come as a surprise."""
    for ref, rollout in found.rollouts.items():
        op.notes[ref] = (str(rollout),)
    if op.options.rollout == "refuse" and found.replaced:
        raise errors.WouldReplace(
            {ref: str(rollout) for ref, rollout in found.replaced.items()}
        )
    for line in found.warnings:
        LOG.info("%s: %s: %s", op.instance, op.name, line)
    if foresee:
        foresee(found)
