"""Requests and records of Tacker's v2 API <-> our values.

An attribute of Tacker's objects that is not set raises when it is read, but
for ``get`` with a default. Nothing of an instance is changed in place: the
conductor compares it with what it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker.sol_refactored import objects
from tacker.sol_refactored.common import config
from tacker.sol_refactored.common import vnf_instance_utils

from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import request
from tacker_k8s_cr.driver import vdu_objects
from tacker_k8s_cr.driver import vim
from tacker_k8s_cr.driver.instances import Target
from tacker_k8s_cr.driver.request import Asked
from tacker_k8s_cr.errors import RequestInvalid
from tacker_k8s_cr.healing import owing
from tacker_k8s_cr.healing.members import Member
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.package import validation

OURS = "tacker_k8s_cr"
"""Our key in the metadata of an instance; without it, it is not ours."""

VDU_OBJECTS = "vdu_reses"
"""Tacker's key in that metadata for the object of each VDU."""

ROLLING = "RollingUpdate"

Members = Mapping[str, Iterable[Member]]
"""By VDU, its Pods or Machines."""


# -- Where an instance is ----------------------------------------------------


def is_ours(inst: Any) -> bool:
    """Whether our driver instantiated it."""
    return OURS in _metadata(inst)


def target(
    inst: Any,
    grant_req: Any = None,
    *,
    home: str = "",
    namespace: str = "",
    vim_info: Any = None,
) -> Target:
    """An instance on its VIM.

    :param grant_req: of the operation, whose id it names.
    :param home: the namespace of its record; where it is empty, this and
        its own are what the instance's metadata say.
    :param namespace: its own.
    """
    if not home:
        metadata = _metadata(inst)
        home = str(metadata[OURS]["record"]).partition("/")[0]
        namespace = str(metadata.get("namespace") or "")
    found = vim_info or vnf_instance_utils.select_vim_info(
        inst.vimConnectionInfo
    )
    return Target(
        inst.id, home, vim.access(found), occurrence(grant_req), namespace
    )


def occurrence(grant_req: Any) -> str:
    """Tacker's id of the operation that the grant was asked for."""
    found = grant_req and grant_req.get("vnfLcmOpOccId", None)
    return str(found or "")


def _metadata(inst: Any) -> Mapping[str, Any]:
    info = inst.get("instantiatedVnfInfo", None)
    found: Mapping[str, Any] = (info and info.get("metadata", None)) or {}
    return found


# -- What is asked for -------------------------------------------------------


def asked(req: Any, operation: str, home: str = "") -> Asked:
    """What the request's additionalParams say. Raises RequestInvalid.

    :param home: the namespace of an instance that is there already.
    """
    params = req.get("additionalParams", None)
    found = request.read(params, operation, home=home)
    if found.use_helm:
        raise RequestInvalid(
            "additionalParams.use_helm: in the v2 API a VIM of the type "
            "ETSINFV.HELM.V_3 is what takes a chart"
        )
    return found


def change_asked(req: Any, home: str) -> Asked:
    """As ``asked``; refuses another way to upgrade than the only one."""
    params = req.get("additionalParams", None) or {}
    if params.get("upgrade_type") != ROLLING:
        raise RequestInvalid(
            "additionalParams.upgrade_type: wanted RollingUpdate, the only "
            "way to change a package on Kubernetes"
        )
    return asked(req, "change", home)


def asked_before(inst: Any, req: Any, home: str) -> Asked:
    """A request to change, with the manifests that were in use before it.

    What cannot be read of the request was refused for that; it is left out.
    """
    try:
        found = asked(req, "change", home)
    except RequestInvalid:
        found = Asked(namespace=home)
    return dataclasses.replace(
        found,
        files=tuple(_metadata(inst).get(request.FILES, ())),
        # The former package was accepted before.
        field_validation=validation.WARN,
    )


def level(inst: Any, req: Any) -> int:
    """The scale level that a scale request leads to.

    Tacker stores the level once the operation is completed, so that it is
    the same when it is tried again.
    """
    steps: int = req.get("numberOfSteps", None) or 1
    back = req.type == "SCALE_IN"
    return level_before(inst, req) + (-steps if back else steps)


def level_before(inst: Any, req: Any) -> int:
    levels = scale_levels(inst)
    if req.aspectId not in levels:
        known = ", ".join(levels) or "none"
        raise RequestInvalid(
            f"aspectId: the VNF instance has no aspect {req.aspectId}; its "
            f"aspects are: {known}"
        )
    return levels[req.aspectId]


def scale_levels(inst: Any) -> dict[str, int]:
    info = inst.instantiatedVnfInfo
    listed = info.get("scaleStatus", None) or ()
    return {item.aspectId: item.scaleLevel for item in listed}


def members_asked(
    inst: Any, req: Any, found: Members, inventory: Inventory
) -> frozenset[str] | None:
    """UIDs of the members that a heal is for; None for all.

    Those that are there, or that the record tells of: a heal which ended
    early took them away, or nobody but a heal makes them again. Of any other
    its controller has made another by itself. For a VNF of containers
    Tacker's own driver heals all where no VNFC is named, whatever
    ``additionalParams.all`` says, which is about storage.
    """
    wanted = req.get("vnfcInstanceId", None)
    if not wanted:
        return None
    uids = {item.uid for items in found.values() for item in items}
    uids |= owing.recorded(inventory).keys()
    # Tacker's own driver and its container update script take the names of
    # Pods for ids; no UID is a name.
    known = {uid: uid for uid in uids}
    known |= {m.ref.name: m.uid for items in found.values() for m in items}
    return frozenset(
        known[vnfc.vnfcResourceInfoId]
        for vnfc in inst.instantiatedVnfInfo.get("vnfcInfo", None) or ()
        if vnfc.id in wanted and vnfc.vnfcResourceInfoId in known
    )


def grace_seconds(req: Any) -> int | None:
    """The time-out of a graceful termination; none for a forceful one.

    None leaves each object its own.
    """
    if req.terminationType != "GRACEFUL":
        return 0
    seconds: int | None = req.get("gracefulTerminationTimeout", None)
    if seconds is None:
        seconds = config.CONF.v2_vnfm.default_graceful_termination_timeout
    return seconds


# -- What there is -----------------------------------------------------------


def note_instantiated(
    inst: Any, req: Any, said: Asked, found: Members, home: str = ""
) -> None:
    """What Tacker keeps of an instantiated VNF: references only.

    ``namespace`` and ``tenant`` are where Tacker's policies look for them.
    Its own driver has the manifests there, too; they may hold secrets.

    :param home: the namespace of the record, if it is another.
    """
    inst.instantiatedVnfInfo = objects.VnfInstanceV2_InstantiatedVnfInfo(
        flavourId=req.flavourId,
        vnfState="STARTED",
        metadata={
            OURS: {"record": f"{home or said.namespace}/{inst.id}"},
            "namespace": said.namespace,
            "tenant": said.namespace,
            request.FILES: list(said.files),
        },
    )
    note_members(inst, found)


def note_files(inst: Any, files: Iterable[str]) -> None:
    """Which manifests are in use, after a change of package."""
    inst.instantiatedVnfInfo.metadata = {
        **_metadata(inst),
        request.FILES: list(files),
    }


def note_record(inst: Any, home: str) -> None:
    """Note that an instance is ours.

    :param home: the namespace of its record.
    """
    metadata = _metadata(inst)
    inst.instantiatedVnfInfo.metadata = {
        **metadata,
        OURS: {"record": f"{home}/{inst.id}"},
        "tenant": metadata.get("tenant") or metadata.get("namespace"),
    }


def note_vdus(inst: Any, inventory: Inventory) -> None:
    """Write down the object of each VDU, which container updates read."""
    inst.instantiatedVnfInfo.metadata = {
        **_metadata(inst),
        VDU_OBJECTS: vdu_objects.of_inventory(inventory),
    }


def note_members(inst: Any, found: Members) -> None:
    """Write down the Pods and Machines as VNFCs.

    An object's UID is the VNFC's id, so that Tacker takes what was replaced
    under the same name for another, and what stayed for the same.
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
    listed = [(vdu, item) for vdu, items in found.items() for item in items]
    info.vnfcResourceInfo = [
        objects.VnfcResourceInfoV2(
            id=member.uid,
            vduId=vdu,
            computeResource=objects.ResourceHandle(
                # Tacker reads it of every VNFC, where a policy says that
                # some are to be apart.
                vimConnectionId=key,
                resourceId=member.ref.name,
                vimLevelResourceType=member.owner.kind,
            ),
            metadata=instances.described(member),
        )
        for vdu, member in listed
    ]
    info.vnfcInfo = [
        _vnfc(vdu, member.uid, configured) for vdu, member in listed
    ]


def _vnfc(vdu: str, uid: str, configured: Mapping[str, Any]) -> Any:
    made = objects.VnfcInfoV2(
        id=f"{vdu}-{uid}",
        vduId=vdu,
        vnfcResourceInfoId=uid,
        vnfcState="STARTED",
    )
    if made.id in configured:
        made.vnfcConfigurableProperties = configured[made.id]
    return made
