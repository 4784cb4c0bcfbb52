"""Find the owners of objects that exist already."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.engine import bulk_read
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import ownership
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.plan.placement import PlacedManifest
from tacker_k8s_cr.plan.steps import LiveObject
from tacker_k8s_cr.state import other_instances


@dataclasses.dataclass(frozen=True)
class ExistingObjects:
    """Objects of a package that exist already.

    :param live: objects that belong to the instance.
    :param shared: objects of other owners that match the package exactly.
    :param terminating: objects whose deletion is requested; the apply waits
        for it.
    :param transferred: objects to transfer from other instances, with their
        source instance.
    """

    live: Mapping[ObjectRef, LiveObject]
    shared: frozenset[ObjectRef]
    terminating: frozenset[ObjectRef] = frozenset()
    transferred: Mapping[ObjectRef, str] = dataclasses.field(
        default_factory=dict
    )


def find_existing(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    before: Inventory,
    unserved: Collection[GroupKind],
    options: Options,
) -> ExistingObjects:
    """Find the owners of the objects that exist already.

    An object that the instance shares already stays shared with an owner that
    is being terminated, whose record lists it. A new one is refused.

    :param before: the inventory so far.
    :param unserved: kinds that are not served, and thus have no objects.
    :param options: names objects to adopt, unless they belong to another
        instance, and objects to transfer from an instance.

    :raises OwnedByOther: names each object of another owner, and the owner.
    """
    instance, owned = before.instance, before.owned
    adopt = options.adopt
    wanted = [item for item in items if item.ref.group_kind not in unserved]
    live = {}
    foreign = {}
    terminating = set()
    transferred: dict[ObjectRef, str] = {}
    has_record: dict[str, bool] = {}
    for ref, obj in bulk_read.read_metadata(cluster, [i.ref for i in wanted]):
        owner_instance = objects.labels(obj).get(objects.INSTANCE, "")
        if objects.field(obj, ("metadata", "deletionTimestamp")):
            terminating.add(ref)
        elif owned.get(ref) == objects.uid(obj):
            live[ref] = _live(obj)
        elif owner_instance and ownership.applied_by(
            obj, objects.MANAGER + owner_instance
        ):
            if owner_instance not in has_record:
                own_namespace = (
                    before.record_namespace
                    if owner_instance == instance
                    else ""
                )
                has_record[owner_instance] = other_instances.has_record(
                    cluster, owner_instance, own_namespace
                )
            # An instance without a record does not count as an owner. If this
            # instance had created an object with its own label, its record
            # would list the object.
            doubtful = (
                owner_instance == instance
                and bool(owned)
                and ref not in adopt
                and not ownership.has_instance_label(obj, instance)
            )
            is_requested = (
                owner_instance != instance
                and options.transfer_from.get(ref) == owner_instance
            )
            if has_record[owner_instance] and is_requested:
                live[ref] = _live(obj)
                transferred[ref] = owner_instance
            elif has_record[owner_instance] or doubtful:
                foreign[ref] = obj
            else:
                live[ref] = _live(obj)
        elif ref in adopt:
            live[ref] = _live(obj)
        else:
            foreign[ref] = obj
    foreign_items = [item for item in wanted if item.ref in foreign]
    shared = frozenset(
        item.ref
        for item, same in results_or_raise(
            cluster.map_parallel(
                lambda i: _is_equivalent(cluster, i, instance), foreign_items
            )
        )
        if same
    )
    refused = {
        ref: ownership.foreign_owner(obj)
        for ref, obj in foreign.items()
        if ref not in shared
    }
    refused.update(
        _find_terminating_owners(
            cluster, foreign, shared.difference(before.shared)
        )
    )
    if refused:
        raise errors.OwnedByOther(refused)
    return ExistingObjects(live, shared, frozenset(terminating), transferred)


def confirm_shared_owners(
    cluster: Cluster, refs: Collection[ObjectRef]
) -> None:
    """Raise OwnedByOther for shared objects whose owner is terminating.

    To be called once the record lists the objects as shared: an owner that is
    terminated later finds that record.
    """
    found = results_or_raise(
        cluster.map_parallel(cluster.get_metadata, sorted(refs))
    )
    existing = {ref: obj for ref, obj in found if obj is not None}
    if refused := _find_terminating_owners(cluster, existing, existing):
        raise errors.OwnedByOther(refused)


def _find_terminating_owners(
    cluster: Cluster,
    foreign: Mapping[ObjectRef, Manifest],
    refs: Collection[ObjectRef],
) -> dict[ObjectRef, str]:
    """Return which of these belong to an instance being terminated."""
    owner_instances = {
        ref: objects.labels(foreign[ref]).get(objects.INSTANCE) for ref in refs
    }
    records = {
        name: other_instances.terminating_record(cluster, name)
        for name in set(owner_instances.values())
        if name
    }
    return {
        ref: f"{ownership.foreign_owner(foreign[ref])}, which is being "
        f"terminated ({record}); if that is stuck, run terminate again"
        for ref, name in owner_instances.items()
        if name and (record := records[name])
    }


def _live(obj: Manifest) -> LiveObject:
    version = objects.field(obj, ("metadata", "resourceVersion"), "")
    return LiveObject(objects.uid(obj), version)


def _is_equivalent(
    cluster: Cluster, item: PlacedManifest, instance: str
) -> bool:
    """Return whether our apply would change nothing but our labels.

    The labels are left out: they would conflict with another instance's.
    """
    live = cluster.get(item.ref)
    if live is None:
        return False
    metadata = dict(item.manifest["metadata"])
    labels = dict(metadata["labels"])
    for name in (objects.INSTANCE, objects.VNF_INSTANCE):
        labels.pop(name, None)
    manifest = {**item.manifest, "metadata": {**metadata, "labels": labels}}
    try:
        predicted = cluster.apply(
            manifest, objects.MANAGER + instance, dry_run=True
        )
    except errors.ClusterError:
        return False
    return ownership.equal_ignoring_ownership(live, predicted.obj)


def recover_unrecorded(
    cluster: Cluster, inventory: Inventory
) -> dict[ObjectRef, str]:
    """Return UIDs of objects written after the journal and before a crash.

    Only objects that the journal announced, that have the instance's label and
    that an apply by its field manager created are attributed to the instance.
    An object of another client that the apply found just before the crash is
    not.
    """
    pending = set(inventory.journal.pending)
    if inventory.phase is Phase.INSTANTIATING:
        # It is created before there is a record that could announce it.
        pending.add(ObjectRef("", "Namespace", "", inventory.record_namespace))
    if inventory.phase is not Phase.HEALING:
        # During a heal, the UID of a deleted member is recorded until there is
        # a new one.
        pending -= inventory.owned.keys()
    doubtful = sorted(pending)
    return {
        ref: objects.uid(obj)
        for ref, obj in results_or_raise(
            cluster.map_parallel(cluster.get_metadata, doubtful)
        )
        if obj is not None
        and ownership.has_instance_label(obj, inventory.instance)
    }
