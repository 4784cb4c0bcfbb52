"""Drivers of v1 and v2 that do nothing: what is left is Tacker's own time."""

from __future__ import annotations

from collections.abc import Callable
import sys
import types
from typing import Any

DISPATCH = "tacker.sol_refactored.conductor.vnflcm_driver_v2"


class Nothing:
    """Named nothing in [tacker] infra_driver and vnflcm_infra_driver."""

    def __init__(self) -> None:
        # v2 does not support plug-ins: its conductor resolves one name.
        if found := sys.modules.get(DISPATCH):
            vars(found)["kubernetes"] = types.SimpleNamespace(
                Kubernetes=NothingV2
            )

    def get_type(self) -> str:
        return "kubernetes"

    def pre_instantiation_vnf(
        self, *, vnf_instance: Any, **_: Any
    ) -> dict[str, Any]:
        where = {"namespace": "default", "tenant": "default"}
        vnf_instance.vnf_metadata = where
        vnf_instance.save()
        return {}

    def instantiate_vnf(self, *, vnfd_dict: Any, **_: Any) -> str:
        vnfd_dict["instance_id"] = "nothing"
        return "nothing"

    def get_scale_ids(self, **_: Any) -> list[str]:
        return []

    def get_scale_in_ids(self, **_: Any) -> tuple[Any, ...]:
        return [], [], None, None

    def __getattr__(self, _name: str) -> Callable[..., None]:
        return lambda **_: None


class NothingV2:
    """Leaves an instance without VNFCs, and a VIM without a request."""

    def instantiate(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        from tacker.sol_refactored import objects

        inst.instantiatedVnfInfo = objects.VnfInstanceV2_InstantiatedVnfInfo(
            flavourId=req.flavourId,
            vnfState="STARTED",
            metadata={},
            vnfcResourceInfo=[],
            vnfcInfo=[],
        )

    def __getattr__(self, _name: str) -> Callable[..., None]:
        return lambda *_: None
