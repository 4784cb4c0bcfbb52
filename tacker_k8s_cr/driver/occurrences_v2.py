"""What Tacker's v2 API remembers of the operations on an instance."""

from __future__ import annotations

from tacker import context as contexts
from tacker.sol_refactored import objects
from tacker.sol_refactored.objects.v2 import fields


def given_up(instance: str) -> frozenset[str]:
    """Namespaces of instantiations that failed and were not rolled back.

    Tacker stores nothing else of them; what they made may be there still.
    """
    found = objects.VnfLcmOpOccV2.get_by_filter(
        contexts.get_admin_context(),
        vnfInstanceId=instance,
        operation=fields.LcmOperationType.INSTANTIATE,
        operationState=fields.LcmOperationStateType.FAILED,
    )
    params = (
        item.operationParams.get("additionalParams", None) or {}
        for item in found
    )
    return frozenset(
        str(said.get("namespace") or "default") for said in params
    )
