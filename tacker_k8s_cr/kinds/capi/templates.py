"""Templates: what clusters and machines are made from."""

from __future__ import annotations

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.model.objects import GroupKind

_TEMPLATE = Handler(base.stored, ApplyOrder.TEMPLATE)


def is_template(group_kind: GroupKind) -> bool:
    """A kind of Cluster API, or of a provider, that others are made from."""
    family = contract.is_capi_group(group_kind.group)
    return family and group_kind.kind.endswith("Template")


def of_templates(group_kind: GroupKind) -> Handler | None:
    """The handler of templates: nothing works on one before it is cloned."""
    return _TEMPLATE if is_template(group_kind) else None
