"""Translate requests and records of Tacker's v2 API.

An attribute of Tacker's objects that is not set raises when it is read, except
by ``get`` with a default. No value of an instance is changed in place: the
conductor compares it with its previous state.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker.sol_refactored import objects
from tacker.sol_refactored.common import config
from tacker.sol_refactored.common import vnf_instance_utils

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import member_records
from tacker_k8s_cr.driver import references
from tacker_k8s_cr.driver import schema
from tacker_k8s_cr.driver import vim
from tacker_k8s_cr.driver.additional_params import RequestParams
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.driver.member_records import Members
from tacker_k8s_cr.driver.v2 import vdu_objects
from tacker_k8s_cr.model import field_validation
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.plan.inventory import Inventory

METADATA_KEY = "tacker_k8s_cr"
"""Key in the metadata of an instance that this driver manages."""

VDU_OBJECTS = "vdu_reses"
"""Tacker's key in that metadata for the object of each VDU."""

ROLLING = "RollingUpdate"


# -- Targets -----------------------------------------------------------------


def is_managed(inst: Any) -> bool:
    """Return whether this driver manages an instance."""
    return METADATA_KEY in _metadata(inst)


def target(
    inst: Any,
    grant_req: Any = None,
    *,
    record_namespace: str = "",
    namespace: str = "",
    vim_info: Any = None,
) -> InstanceTarget:
    """Return an instance on its VIM.

    :param grant_req: of the operation; contains its id.
    :param record_namespace: the namespace of its record; if empty, both
        namespaces are from the metadata of the instance.
    :param namespace: its own.
    """
    if not record_namespace:
        metadata = _metadata(inst)
        record_namespace = str(metadata[METADATA_KEY]["record"]).partition(
            "/"
        )[0]
        namespace = str(metadata.get("namespace") or "")
    vim_connection = vim_info or vnf_instance_utils.select_vim_info(
        inst.vimConnectionInfo
    )
    return InstanceTarget(
        inst.id,
        record_namespace,
        vim.access(vim_connection),
        occurrence(grant_req),
        namespace,
    )


def occurrence(grant_req: Any) -> str:
    """Return Tacker's id of the operation of a grant request."""
    id_ = grant_req and grant_req.get("vnfLcmOpOccId", None)
    return str(id_ or "")


def _metadata(inst: Any) -> Mapping[str, Any]:
    info = inst.get("instantiatedVnfInfo", None)
    metadata: Mapping[str, Any] = (info and info.get("metadata", None)) or {}
    return metadata


# -- What is asked for -------------------------------------------------------


def request_params(
    req: Any, operation: str, namespace: str = ""
) -> RequestParams:
    """Return the parameters of a request. Raises RequestInvalid.

    :param namespace: the namespace of an existing instance.
    """
    params = req.get("additionalParams", None)
    result = additional_params.read(
        params, operation, instance_namespace=namespace
    )
    if result.use_helm:
        raise RequestInvalid(
            "additionalParams.use_helm: the v2 API instantiates charts on a "
            "VIM of type ETSINFV.HELM.V_3"
        )
    return result


def change_params(req: Any, namespace: str) -> RequestParams:
    """Return the parameters of a change. Raises RequestInvalid."""
    params = req.get("additionalParams", None) or {}
    if params.get("upgrade_type") != ROLLING:
        raise RequestInvalid(
            "additionalParams.upgrade_type: expected RollingUpdate, got "
            f"{params.get('upgrade_type')}"
        )
    return request_params(req, "change", namespace)


def previous_request_params(
    inst: Any, req: Any, namespace: str
) -> RequestParams:
    """Return the parameters of a change, with the previous manifests.

    Invalid parameters are ignored: the change was rejected for them.
    """
    try:
        params = request_params(req, "change", namespace)
    except RequestInvalid:
        params = RequestParams(namespace=namespace)
    return dataclasses.replace(
        params,
        files=tuple(_metadata(inst).get(schema.FILES, ())),
        # The previous package was accepted before.
        field_validation=field_validation.WARN,
    )


def level(inst: Any, req: Any) -> int:
    """Return the scale level that a request leads to.

    Tacker stores the level when the operation is completed, so that a
    repeated operation leads to the same level.
    """
    steps: int = req.get("numberOfSteps", None) or 1
    back = req.type == "SCALE_IN"
    return level_before(inst, req) + (-steps if back else steps)


def level_before(inst: Any, req: Any) -> int:
    levels = scale_levels(inst)
    if req.aspectId not in levels:
        aspects = ", ".join(levels) or "none"
        raise RequestInvalid(
            f"aspectId: the VNF instance has no aspect {req.aspectId}; its "
            f"aspects are: {aspects}"
        )
    return levels[req.aspectId]


def scale_levels(inst: Any) -> dict[str, int]:
    info = inst.instantiatedVnfInfo
    listed = info.get("scaleStatus", None) or ()
    return {item.aspectId: item.scaleLevel for item in listed}


def selected_members(
    inst: Any, req: Any, members: Members, inventory: Inventory
) -> frozenset[str] | None:
    """Return the UIDs of the members to heal; None for all.

    For a VNF of containers Tacker's own driver heals all if the request has
    no VNFC, also without ``additionalParams.all``, which is about storage.
    """
    requested = req.get("vnfcInstanceId", None)
    if not requested:
        return None
    # Tacker's own driver and its container update script take the names of
    # Pods for ids; no UID is a name.
    uids = {uid: uid for uid in member_records.healable(members, inventory)}
    uids |= {m.ref.name: m.uid for items in members.values() for m in items}
    return frozenset(
        uids[vnfc.vnfcResourceInfoId]
        for vnfc in inst.instantiatedVnfInfo.get("vnfcInfo", None) or ()
        if vnfc.id in requested and vnfc.vnfcResourceInfoId in uids
    )


def grace_seconds(req: Any) -> int | None:
    """Return the timeout of a graceful termination; 0 for a forceful one.

    None is for the grace period of each object.
    """
    if req.terminationType != "GRACEFUL":
        return 0
    seconds: int | None = req.get("gracefulTerminationTimeout", None)
    if seconds is None:
        seconds = config.CONF.v2_vnfm.default_graceful_termination_timeout
    return seconds


# -- Records -----------------------------------------------------------------


def note_instantiated(
    inst: Any,
    req: Any,
    params: RequestParams,
    members: Members,
    record_namespace: str = "",
) -> None:
    """Store an instantiated VNF: references only.

    Tacker's policies read ``namespace`` and ``tenant``. Its own driver also
    stores manifests, which may contain secrets.

    :param record_namespace: the namespace of the record, if it is another.
    """
    inst.instantiatedVnfInfo = objects.VnfInstanceV2_InstantiatedVnfInfo(
        flavourId=req.flavourId,
        vnfState="STARTED",
        metadata={
            METADATA_KEY: {
                "record": references.format_reference(
                    inst.id, record_namespace or params.namespace
                )
            },
            "namespace": params.namespace,
            "tenant": params.namespace,
            schema.FILES: list(params.files),
        },
    )
    note_members(inst, members)


def note_files(inst: Any, files: Iterable[str]) -> None:
    """Store the manifests in use, after a change of package."""
    inst.instantiatedVnfInfo.metadata = {
        **_metadata(inst),
        schema.FILES: list(files),
    }


def note_record(inst: Any, record_namespace: str) -> None:
    """Store the reference of the record.

    :param record_namespace: the namespace of its record.
    """
    metadata = _metadata(inst)
    inst.instantiatedVnfInfo.metadata = {
        **metadata,
        METADATA_KEY: {
            "record": references.format_reference(inst.id, record_namespace)
        },
        "tenant": metadata.get("tenant") or metadata.get("namespace"),
    }


def note_vdus(inst: Any, inventory: Inventory) -> None:
    """Store the object of each VDU, which container updates read."""
    inst.instantiatedVnfInfo.metadata = {
        **_metadata(inst),
        VDU_OBJECTS: vdu_objects.of_inventory(inventory),
    }


def note_members(inst: Any, members: Members) -> None:
    """Store the Pods and Machines as VNFCs.

    The UID is the id of the VNFC, so that a replaced member of the same name
    is another VNFC.
    """
    info = inst.instantiatedVnfInfo
    configured = {
        vnfc.id: vnfc.vnfcConfigurableProperties
        for vnfc in info.get("vnfcInfo", None) or ()
        if vnfc.obj_attr_is_set("vnfcConfigurableProperties")
    }
    key, _ = vnf_instance_utils.select_vim_info(
        inst.vimConnectionInfo, return_key=True
    )
    listed = [(vdu, item) for vdu, items in members.items() for item in items]
    info.vnfcResourceInfo = [
        objects.VnfcResourceInfoV2(
            id=member.uid,
            vduId=vdu,
            computeResource=objects.ResourceHandle(
                # Tacker reads it of every VNFC for anti-affinity policies.
                vimConnectionId=key,
                resourceId=member.ref.name,
                vimLevelResourceType=member.owner.kind,
            ),
            metadata=member_records.metadata(member),
        )
        for vdu, member in listed
    ]
    info.vnfcInfo = [
        _vnfc(vdu, member.uid, configured) for vdu, member in listed
    ]


def _vnfc(vdu: str, uid: str, configured: Mapping[str, Any]) -> Any:
    vnfc = objects.VnfcInfoV2(
        id=f"{vdu}-{uid}",
        vduId=vdu,
        vnfcResourceInfoId=uid,
        vnfcState="STARTED",
    )
    if vnfc.id in configured:
        vnfc.vnfcConfigurableProperties = configured[vnfc.id]
    return vnfc
