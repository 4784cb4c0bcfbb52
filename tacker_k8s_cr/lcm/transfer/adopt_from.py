"""Transfer objects from live instances, one record after the other.

The order of writes makes it safe to die at any of them: the record of this
instance first announces the objects and their source instances; then the
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
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.inventory import Phase
from tacker_k8s_cr.plan.inventory import Transfer
from tacker_k8s_cr.state import store
from tacker_k8s_cr.state.session import RecordSession

LOG = logging.getLogger(__name__)

STAGE = "taking over"


def transfer(
    op: Session, inventory: Inventory, some: Collection[SourceInstance]
) -> Inventory:
    """Return the stored inventory with the transferred objects.

    A transfer that an operation began before it died is continued. Until the
    instance is at rest, transferred objects count as met: undoing the
    operation does not delete them.
    """
    former = op.ledger.entry.inventory.incoming if op.ledger.entry else {}
    begun = {
        ref: gift
        for ref, gift in former.items()
        if inventory.owned.get(ref) == gift.uid
    }
    new = {
        ref: Transfer(
            uid,
            giver.instance,
            giver.home,
            ref in giver.ledger.inventory.preexisting,
            manifests.get(ref),
        )
        for giver in some
        for manifests in (
            manifest_annotations.manifests(giver.ledger.inventory),
        )
        for ref, uid in giver.uids.items()
    }
    if not begun and not new:
        return inventory
    if new:
        announced = dataclasses.replace(inventory, incoming={**begun, **new})
        op.ledger.write(announced.with_journal(op.name, STAGE, ()))
    for giver in some:
        theirs = giver.ledger.inventory
        giver.ledger.write(
            theirs.with_transferred_out(giver.uids, op.instance)
        )
    gifts = {**begun, **new}
    for ref, gift in sorted(gifts.items()):
        rename_field_manager(op, ref, gift)
        LOG.info(
            "%s: %s was taken from the instance %s",
            op.instance,
            ref,
            gift.source,
        )
    after = _with(inventory, gifts)
    op.ledger.write(after.with_journal(op.name, STAGE, ()))
    for giver in some:
        theirs = giver.ledger.inventory
        kept = {
            r: to
            for r, to in theirs.transferred_out.items()
            if r not in giver.uids
        }
        giver.ledger.write(dataclasses.replace(theirs, transferred_out=kept))
    return after


def _with(
    inventory: Inventory, gifts: Mapping[ObjectRef, Transfer]
) -> Inventory:
    owning = inventory.with_owned(
        {ref: gift.uid for ref, gift in gifts.items()}
    )
    return dataclasses.replace(
        owning,
        preexisting=owning.preexisting | gifts.keys(),
        transferred_in={**owning.transferred_in, **gifts},
        incoming={},
    )


def finalize(inventory: Inventory) -> Inventory:
    """At rest, what was taken is the instance's as if it had made it."""
    own = {
        ref
        for ref, gift in inventory.transferred_in.items()
        if not gift.preexisting
    }
    return dataclasses.replace(
        inventory, preexisting=inventory.preexisting - own
    )


def resolve_interrupted(cluster: Cluster, inventory: Inventory) -> Inventory:
    """Add objects that a run that died had received and not announced.

    The record of the source instance decides. If that record no longer exists,
    the object belongs to this instance if it still has the source's mark: a
    source that releases an object without a new owner removes the mark.
    """
    taking = inventory.incoming
    if not taking:
        return inventory
    records = {}
    for place in {
        (gift.source, gift.record_namespace) for gift in taking.values()
    }:
        entry = store.read(cluster, *place)
        records[place] = entry.inventory if entry else None
    live = dict(
        results_or_raise(
            cluster.map_parallel(cluster.get_metadata, sorted(taking))
        )
    )
    given = {}
    for ref, gift in taking.items():
        obj = live[ref]
        if obj is None or objects.uid(obj) != gift.uid:
            continue
        theirs = records[gift.source, gift.record_namespace]
        managers = (
            objects.MANAGER + i for i in (gift.source, inventory.instance)
        )
        if (
            theirs.transferred_out.get(ref) == inventory.instance
            and theirs.owned.get(ref) != gift.uid
            if theirs
            else any(ownership.applied_by(obj, m) for m in managers)
        ):
            given[ref] = gift
    return _with(inventory, given)


def return_objects(
    op: Session, gifts: Mapping[ObjectRef, Transfer]
) -> dict[ObjectRef, str]:
    """Return objects to their source instances; to which one, by object.

    A source that no longer exists, or is not at rest, gets nothing back. The
    lock of this instance is held. At each moment the source's record
    determines the owner of an object, as in the transfer.
    """
    places: dict[tuple[str, str], dict[ObjectRef, Transfer]] = defaultdict(
        dict
    )
    for ref, gift in gifts.items():
        places[gift.source, gift.record_namespace][ref] = gift
    back = {}
    for (instance, home), some in sorted(places.items()):
        ledger = RecordSession(op.cluster, instance, home)
        try:
            ledger.read(Phase.INSTANTIATED)
            with ledger.locked(op.deadline):
                _hand_back(op, ledger, some)
        except (
            errors.OperationInProgress,
            errors.Forbidden,
            errors.InstanceConflict,
            errors.InstanceNotFound,
        ) as error:
            LOG.warning("%s: not given back: %s", op.instance, error)
            continue
        back.update(dict.fromkeys(some, instance))
    return back


def _hand_back(
    op: Session, ledger: RecordSession, gifts: Mapping[ObjectRef, Transfer]
) -> None:
    theirs = ledger.inventory
    marks = dict.fromkeys(gifts, op.instance)
    ledger.write(
        dataclasses.replace(
            theirs, transferred_out={**theirs.transferred_out, **marks}
        )
    )
    ours = op.inventory.without_owned(gifts)
    op.ledger.write(dataclasses.replace(ours, incoming=gifts))
    for ref, gift in sorted(gifts.items()):
        manager = objects.MANAGER + gift.source
        _renamed(op, ref, gift.uid, op.manager, manager, gift.source)
    ledger.write(ledger.inventory.with_returned(gifts))
    op.ledger.write(dataclasses.replace(ours, incoming={}))


def rename_field_manager(op: Session, ref: ObjectRef, gift: Transfer) -> None:
    """Become field manager of the fields that the source has set."""
    _renamed(op, ref, gift.uid, objects.MANAGER + gift.source, op.manager)


def _renamed(
    op: Session,
    ref: ObjectRef,
    uid: str,
    giver: str,
    taker: str,
    mark: str = "",
) -> None:
    """Make one manager's, of an object's fields, what another has set.

    :param mark: the instance that it is to bear the label of, if that is to
        be another.
    """

    def rename() -> None:
        obj = op.cluster.get_metadata(ref)
        if obj is None or objects.uid(obj) != uid:
            return
        before = objects.field(obj, ("metadata", "managedFields"), ())
        after = ownership.rename_manager(before, giver, taker)
        marked = objects.labels(obj).get(objects.INSTANCE)
        if after == list(before) and marked == (mark or marked):
            return
        metadata = obj["metadata"]
        body = {
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
            "managedFields": after,
            **({"labels": {objects.INSTANCE: mark}} if mark else {}),
        }
        op.ledger.guard()
        op.ledger.fenced_cluster.patch(ref, {"metadata": body}, taker)

    retry_on_conflict(rename)
