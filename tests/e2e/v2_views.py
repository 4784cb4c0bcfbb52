"""What Tacker's v2 API shows of an instance and its operations."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from tools.tacker.rest_api import Api

Shown = Mapping[str, Any]


def vnfcs_by_vdu(vnfcs: Iterable[Shown]) -> dict[str, set[str]]:
    """Of each VDU, the ids of its VNFCs."""
    found: dict[str, set[str]] = {}
    for vnfc in vnfcs:
        found.setdefault(vnfc["vduId"], set()).add(vnfc["id"])
    return found


def affected_vnfcs(occurrence: Shown) -> dict[str, str]:
    """Of each VNFC that an operation changed: how, by its id."""
    changes = occurrence.get("resourceChanges") or {}
    listed = changes.get("affectedVnfcs") or ()
    return {vnfc["id"]: vnfc["changeType"] for vnfc in listed}


def levels(v2: Api, instance: str) -> dict[str, int]:
    """Of each aspect, its scale level."""
    info = v2.show(instance)["instantiatedVnfInfo"]
    return {i["aspectId"]: i["scaleLevel"] for i in info["scaleStatus"]}


def info_ids(v2: Api, instance: str, *vdus: str) -> list[str]:
    """Of these VDUs, the ids that a heal request names."""
    info = v2.show(instance)["instantiatedVnfInfo"]
    return [v["id"] for v in info["vnfcInfo"] if v["vduId"] in vdus]


def info_id(v2: Api, instance: str, vnfc: str) -> str:
    """The id that a heal request names, of the VNFC with this one."""
    info = v2.show(instance)["instantiatedVnfInfo"]
    (found,) = (
        v["id"] for v in info["vnfcInfo"] if v["vnfcResourceInfoId"] == vnfc
    )
    return str(found)


def assert_refused(occurrence: Shown) -> tuple[int, str]:
    """Of an operation that failed for now: its status, and its detail."""
    assert "FAILED_TEMP" == occurrence["operationState"], occurrence
    error = occurrence["error"]
    return error["status"], error["detail"]
