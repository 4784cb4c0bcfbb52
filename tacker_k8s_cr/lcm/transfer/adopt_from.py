"""Transfer objects from live instances, one record after the other.

The order of writes makes a crash between any two of them safe: the record of
this instance first announces the objects and their source instances; then the
source's record releases the objects, and names the new owner; then this
instance becomes the field manager; then its record owns them. Until the source
has released an object, only its record counts; from then on, only the record
of this instance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import logging

from tacker_k8s_cr.engine.conflicts import retry_on_conflict
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.transfer.source_instances import SourceInstance
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import ownership
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import manifest_annotations
from tacker_k8s_cr.plan import transferred_objects
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.journal import Transfer
from tacker_k8s_cr.state import store
from tacker_k8s_cr.state.session import RecordSession

LOG = logging.getLogger(__name__)

STAGE = "transfer of objects"


def transfer_objects(
    op: Session, inventory: Inventory, sources: Collection[SourceInstance]
) -> Inventory:
    """Return the stored inventory with the transferred objects.

    A transfer that a killed operation had begun is continued. Until the
    operation has completed, transferred objects count as preexisting: undoing
    the operation does not delete them.
    """
    former = op.ledger.entry.inventory.incoming if op.ledger.entry else {}
    begun = {
        ref: transfer
        for ref, transfer in former.items()
        if inventory.owned.get(ref) == transfer.uid
    }
    new = {
        ref: Transfer(
            uid,
            source.instance,
            source.record_namespace,
            ref in source.ledger.inventory.preexisting,
            manifests.get(ref),
        )
        for source in sources
        for manifests in (
            manifest_annotations.manifests(source.ledger.inventory),
        )
        for ref, uid in source.uids.items()
    }
    if not begun and not new:
        return inventory
    if new:
        with_incoming = dataclasses.replace(
            inventory, incoming={**begun, **new}
        )
        op.ledger.write(with_incoming.with_journal(op.name, STAGE, ()))
    for source in sources:
        source_inventory = source.ledger.inventory
        source.ledger.write(
            transferred_objects.with_transferred_out(
                source_inventory, source.uids, op.instance
            )
        )
    transfers = {**begun, **new}
    for ref, transfer in sorted(transfers.items()):
        rename_field_manager(op, ref, transfer)
        LOG.info(
            "%s: %s was transferred from the instance %s",
            op.instance,
            ref,
            transfer.source,
        )
    after = _with_transferred(inventory, transfers)
    op.ledger.write(after.with_journal(op.name, STAGE, ()))
    for source in sources:
        source_inventory = source.ledger.inventory
        still_transferred_out = {
            r: to
            for r, to in source_inventory.transferred_out.items()
            if r not in source.uids
        }
        source.ledger.write(
            dataclasses.replace(
                source_inventory, transferred_out=still_transferred_out
            )
        )
    return after


def _with_transferred(
    inventory: Inventory, transfers: Mapping[ObjectRef, Transfer]
) -> Inventory:
    owning = inventory.with_owned(
        {ref: transfer.uid for ref, transfer in transfers.items()}
    )
    return dataclasses.replace(
        owning,
        preexisting=owning.preexisting | transfers.keys(),
        transferred_in={**owning.transferred_in, **transfers},
        incoming={},
    )


def finalize(inventory: Inventory) -> Inventory:
    """Treat transferred objects as created by the completed operation."""
    transferred = {
        ref
        for ref, transfer in inventory.transferred_in.items()
        if not transfer.preexisting
    }
    return dataclasses.replace(
        inventory, preexisting=inventory.preexisting - transferred
    )


def resolve_interrupted(cluster: Cluster, inventory: Inventory) -> Inventory:
    """Add objects that a killed run had received but not recorded.

    The record of the source instance decides. If that record no longer exists,
    the object belongs to this instance if the field manager of either instance
    is left: a source that releases an object to no instance removes its own.
    """
    incoming = inventory.incoming
    if not incoming:
        return inventory
    records = {}
    for source in {
        (transfer.source, transfer.record_namespace)
        for transfer in incoming.values()
    }:
        entry = store.read(cluster, *source)
        records[source] = entry.inventory if entry else None
    live = dict(
        results_or_raise(
            cluster.map_parallel(cluster.get_metadata, sorted(incoming))
        )
    )
    completed = {}
    for ref, transfer in incoming.items():
        obj = live[ref]
        if obj is None or objects.uid(obj) != transfer.uid:
            continue
        source_inventory = records[transfer.source, transfer.record_namespace]
        managers = (
            objects.MANAGER + i for i in (transfer.source, inventory.instance)
        )
        if (
            source_inventory.transferred_out.get(ref) == inventory.instance
            and source_inventory.owned.get(ref) != transfer.uid
            if source_inventory
            else any(ownership.applied_by(obj, m) for m in managers)
        ):
            completed[ref] = transfer
    return _with_transferred(inventory, completed)


def return_objects(
    op: Session, transfers: Mapping[ObjectRef, Transfer]
) -> dict[ObjectRef, str]:
    """Return objects to their source instances; return these by object.

    A source that no longer exists, or is not idle, gets nothing back. The
    lock of this instance is held. At each moment the source's record
    determines the owner of an object, as in the transfer.
    """
    by_source: dict[tuple[str, str], dict[ObjectRef, Transfer]] = defaultdict(
        dict
    )
    for ref, transfer in transfers.items():
        by_source[transfer.source, transfer.record_namespace][ref] = transfer
    returned = {}
    for (instance, record_namespace), returning in sorted(by_source.items()):
        ledger = RecordSession(op.cluster, instance, record_namespace)
        try:
            ledger.read(Phase.INSTANTIATED)
            with ledger.locked(op.deadline):
                _return_to_source(op, ledger, returning)
        except (
            errors.OperationInProgress,
            errors.Forbidden,
            errors.InstanceConflict,
            errors.InstanceNotFound,
        ) as error:
            LOG.warning("%s: not returned: %s", op.instance, error)
            continue
        returned.update(dict.fromkeys(returning, instance))
    return returned


def _return_to_source(
    op: Session, ledger: RecordSession, transfers: Mapping[ObjectRef, Transfer]
) -> None:
    source_inventory = ledger.inventory
    transferred_out = dict.fromkeys(transfers, op.instance)
    ledger.write(
        dataclasses.replace(
            source_inventory,
            transferred_out={
                **source_inventory.transferred_out,
                **transferred_out,
            },
        )
    )
    remaining = op.inventory.without_owned(transfers)
    op.ledger.write(dataclasses.replace(remaining, incoming=transfers))
    for ref, transfer in sorted(transfers.items()):
        manager = objects.MANAGER + transfer.source
        _rename_manager(
            op, ref, transfer.uid, op.manager, manager, transfer.source
        )
    ledger.write(
        transferred_objects.with_returned(ledger.inventory, transfers)
    )
    op.ledger.write(dataclasses.replace(remaining, incoming={}))


def rename_field_manager(
    op: Session, ref: ObjectRef, transfer: Transfer
) -> None:
    """Become field manager of the fields that the source has set."""
    _rename_manager(
        op, ref, transfer.uid, objects.MANAGER + transfer.source, op.manager
    )


def _rename_manager(
    op: Session,
    ref: ObjectRef,
    uid: str,
    old_manager: str,
    new_manager: str,
    instance_label: str = "",
) -> None:
    """Transfer the fields of one field manager to another.

    :param instance_label: the new value of the instance label, if it changes.
    """

    def rename() -> None:
        obj = op.cluster.get_metadata(ref)
        if obj is None or objects.uid(obj) != uid:
            return
        before = objects.field(obj, ("metadata", "managedFields"), ())
        after = ownership.rename_manager(before, old_manager, new_manager)
        current_label = objects.labels(obj).get(objects.INSTANCE)
        if after == list(before) and current_label == (
            instance_label or current_label
        ):
            return
        metadata = obj["metadata"]
        body = {
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
            "managedFields": after,
            **(
                {"labels": {objects.INSTANCE: instance_label}}
                if instance_label
                else {}
            ),
        }
        op.ledger.guard()
        op.ledger.fenced_cluster.patch(ref, {"metadata": body}, new_manager)

    retry_on_conflict(rename)
