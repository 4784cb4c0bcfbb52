"""Rows of Tacker's v1 database for objects, Pods and Machines."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
import uuid

from tacker import objects

from tacker_k8s_cr.driver import member_records
from tacker_k8s_cr.driver.v1 import mapping
from tacker_k8s_cr.lcm.healing.members import Member
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.plan.inventory import Inventory

LONGEST_LIST = 200
"""Rows of Tacker's table of resources that an instance has at most. Tacker
writes and deletes them one by one; the record in the cluster has all."""

_MEMBERS = uuid.UUID("6f2c3f0e-9d0a-5f6c-8b58-0c1f4f2d7f43")
"""Of the ids that we make of the UIDs of Pods and Machines."""


def vnf_resources(
    context: Any, vnf_instance: Any, package: Package, stored: Iterable[Any]
) -> list[Any]:
    """Return Tacker's rows of the first objects of a package.

    :param stored: rows of an earlier attempt; they are not repeated.
    """
    stored_names = {
        (item.resource_type, item.resource_name) for item in stored
    }
    named = dict.fromkeys(
        (
            f"{manifest['apiVersion']},{manifest['kind']}"[:255],
            _name(manifest["metadata"]),
        )
        for manifest in package.manifests[:LONGEST_LIST]
    )
    return [
        objects.VnfResource(
            context=context,
            vnf_instance_id=vnf_instance.id,
            resource_type=type_,
            resource_name=name,
            resource_identifier=mapping.noted_reference(vnf_instance),
            resource_status="",
            tenant_id=vnf_instance.tenant_id,
        )
        for type_, name in named
        if (type_, name) not in stored_names
    ]


def _name(metadata: Mapping[str, Any]) -> str:
    """The name, or what a generated one begins with."""
    return str(metadata.get("name") or metadata.get("generateName") or "")


def vnfc_id(uid: str) -> str:
    """The id of a Pod's or Machine's VNFC."""
    return str(uuid.uuid5(_MEMBERS, uid))


def select_uids(
    ids: Iterable[str],
    rows: Iterable[Any],
    members: Mapping[str, Iterable[Member]],
    inventory: Inventory,
) -> frozenset[str]:
    """Return the UIDs of the VNFCs with these ids that a heal can select.

    :param rows: of Tacker's database.
    """
    healable = member_records.healable(members, inventory)
    uids = {vnfc_id(uid): uid for uid in healable}
    uids |= {row.id: uid for row in rows if (uid := _uid(row)) in healable}
    return frozenset(uids[id_] for id_ in ids if id_ in uids)


def vnfc_resources(
    members: Mapping[str, Iterable[Member]],
    before: Iterable[Any] = (),
    healed: Iterable[str] = (),
) -> list[Any]:
    """Return Tacker's row of each Pod or Machine.

    A VNFC keeps its id when another Pod takes its place, as with Tacker's
    own driver. The id of a new one comes from the object's UID: Tacker asks
    several times for each operation, and takes another id for another VNFC.

    :param before: the rows that Tacker has.
    :param healed: ids of VNFCs whose rows stay while they have no Pod, so
        that a heal that ended early can be repeated.
    """
    remaining = list(before)
    rows = []
    for vdu, live in members.items():
        in_order = list(live)
        ids = _ids(in_order, [row for row in remaining if row.vdu_id == vdu])
        rows += [_row(ids[member.uid], vdu, member) for member in in_order]
    without_pod = set(healed) - {row.id for row in rows}
    return rows + [row for row in remaining if row.id in without_pod]


def _ids(members: Iterable[Member], before: Iterable[Any]) -> dict[str, str]:
    """By UID, the id of the VNFC that each member of a VDU is.

    That of the row of the same object, else of one of the same name, else
    of one of this driver whose object no longer exists.
    """
    of_object = {_uid(row): row.id for row in before}
    named = {row.compute_resource.resource_id: row.id for row in before}
    ids = {
        member.uid: of_object[member.uid]
        for member in members
        if member.uid in of_object
    }
    unassigned = {
        row.id: _uid(row) for row in before if row.id not in ids.values()
    }
    new = [member for member in members if member.uid not in ids]
    for member in new:
        if (same := named.get(member.ref.name)) in unassigned:
            ids[member.uid] = same
            del unassigned[same]
    reusable = iter([id_ for id_, uid in unassigned.items() if uid])
    for member in new:
        if member.uid not in ids:
            ids[member.uid] = next(reusable, vnfc_id(member.uid))
    return ids


def _row(id_: str, vdu: str, member: Member) -> Any:
    return objects.VnfcResourceInfo(
        id=id_,
        vdu_id=vdu,
        compute_resource=objects.ResourceHandle(
            vim_connection_id=None,
            resource_id=member.ref.name,
            vim_level_resource_type=member.owner.kind,
        ),
        metadata=member_records.metadata(member),
        storage_resource_ids=[],
        vnfc_cp_info=[],
    )


def _uid(row: Any) -> str:
    """Return the UID of a row's member; empty for a row of another."""
    return str((row.metadata or {}).get("uid") or "")
