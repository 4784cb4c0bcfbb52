"""Plan deletions, in reverse dependency order."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import order as orders
from tacker_k8s_cr.plan.order import Order
from tacker_k8s_cr.plan.steps import Delete
from tacker_k8s_cr.plan.steps import Plan
from tacker_k8s_cr.plan.steps import Stage

_DELETION_STAGES: tuple[tuple[str, frozenset[ApplyOrder]], ...] = (
    ("custom resources", frozenset({ApplyOrder.CUSTOM, ApplyOrder.CLUSTER})),
    ("templates", frozenset({ApplyOrder.TEMPLATE})),
    ("webhooks and API services", frozenset({ApplyOrder.HOOK})),
    ("workloads", frozenset({ApplyOrder.WORKLOAD, ApplyOrder.SCALING})),
    (
        "configuration",
        frozenset(
            {
                ApplyOrder.SERVICE,
                ApplyOrder.BINDING,
                ApplyOrder.ACCESS,
                ApplyOrder.CONFIG,
                ApplyOrder.POLICY,
            }
        ),
    ),
    ("definitions", frozenset({ApplyOrder.DEFINITION})),
    ("namespaces", frozenset({ApplyOrder.NAMESPACE})),
)

CLUSTERS = "clusters"

RECORD_NAMESPACE = "namespace of the record"


def terminate(
    owned: Mapping[ObjectRef, str],
    registry: Registry,
    record_namespace: ObjectRef | None = None,
    order: Order = orders.NONE,
) -> Plan:
    """Plan to delete everything, in reverse dependency order.

    What a stage deletes must no longer exist before the next begins: a
    Cluster's controllers need its templates, and an operator its definitions,
    to complete their finalizers. The order that an author specified is
    reversed: later waves first, and nothing before its dependents.

    :param record_namespace: namespace of the record, deleted separately.
    """
    names = (
        CLUSTERS,
        *(name for name, _ in _DELETION_STAGES),
        RECORD_NAMESPACE,
    )
    positions: dict[ObjectRef, tuple[int, int, int]] = {}
    for ref in owned:
        handler = registry[ref.group_kind]
        if ref == record_namespace:
            name = RECORD_NAMESPACE
        elif handler.delete_exclusively:
            name = CLUSTERS
        else:
            name = next(
                n for n, ranks in _DELETION_STAGES if handler.rank in ranks
            )
        defines = (
            handler.rank <= ApplyOrder.DEFINITION and ref not in order.late
        )
        is_early = defines and ref not in order.waves
        wave = 0 if is_early else -order.wave(ref)
        positions[ref] = (
            2 if ref == record_namespace else is_early,
            wave,
            names.index(name),
        )
    return Plan(
        tuple(
            Stage(
                names[index],
                tuple(
                    Delete(r, owned[r], registry[r.group_kind].propagation)
                    for r in refs
                ),
            )
            for (*_, index), refs in orders.deletion_order(
                positions, order.needs
            )
        )
    )
