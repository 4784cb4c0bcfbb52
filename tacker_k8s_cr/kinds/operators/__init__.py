"""Kinds of operators in wide use that report in a way of their own.

Only kinds that the order of belief for unknown kinds gets wrong are here:
they report a phase only, or nothing at all, or a generation before they have
done anything about it. Each row names its source.
"""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Resolver
from tacker_k8s_cr.kinds.operators import cloud_resources
from tacker_k8s_cr.kinds.operators import compute
from tacker_k8s_cr.kinds.operators import continuous_delivery
from tacker_k8s_cr.kinds.operators import data_processing
from tacker_k8s_cr.kinds.operators import databases
from tacker_k8s_cr.kinds.operators import messaging
from tacker_k8s_cr.kinds.operators import networking
from tacker_k8s_cr.kinds.operators import observability
from tacker_k8s_cr.kinds.operators import operator_lifecycle
from tacker_k8s_cr.kinds.operators import security
from tacker_k8s_cr.kinds.operators import storage
from tacker_k8s_cr.kinds.operators import workloads
from tacker_k8s_cr.kinds.operators.kind_rules import KindRules
from tacker_k8s_cr.model.objects import GroupKind

ROWS: tuple[KindRules, ...] = (
    *cloud_resources.ROWS,
    *compute.ROWS,
    *continuous_delivery.ROWS,
    *data_processing.ROWS,
    *databases.ROWS,
    *messaging.ROWS,
    *networking.ROWS,
    *observability.ROWS,
    *operator_lifecycle.ROWS,
    *security.ROWS,
    *storage.ROWS,
    *workloads.ROWS,
)

HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind(row.group, name): row.handler
    for row in ROWS
    if not row.is_pattern
    for name in row.names
}

_PATTERNS = tuple((row, row.handler) for row in ROWS if row.is_pattern)


def _of_pattern(group_kind: GroupKind) -> Handler | None:
    """Return the handler of a kind that its group identifies."""
    for row, handler in _PATTERNS:
        if row.matches(group_kind):
            return handler
    return None


FAMILIES: tuple[Resolver, ...] = (_of_pattern,)
