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
from tacker_k8s_cr.plan.inventory import Phase
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.plan.placement import PlacedManifest
from tacker_k8s_cr.plan.plan import LiveObject
from tacker_k8s_cr.state import other_instances


@dataclasses.dataclass(frozen=True)
class ExistingObjects:
    """Objects of a package that exist already.

    :param live: objects that belong to the instance.
    :param shared: objects of other owners that match the package exactly.
    :param going: objects whose deletion is requested; the apply waits for it.
    :param taken: objects to transfer from other instances, with their source
        instance.
    """

    live: Mapping[ObjectRef, LiveObject]
    shared: frozenset[ObjectRef]
    terminating: frozenset[ObjectRef] = frozenset()
    taken: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)


def find_existing(
    cluster: Cluster,
    items: Sequence[PlacedManifest],
    before: Inventory,
    later: Collection[GroupKind],
    options: Options,
) -> ExistingObjects:
    """Find the owners of the objects that exist already.

    An object that the instance shares already stays shared with an owner that
    is being terminated, whose record lists it. A new one is refused.

    :param before: the inventory so far.
    :param later: kinds that are not served at all, so have no objects.
    :param options: names objects to adopt, unless they belong to another
        instance, and objects to transfer from an instance.

    :raises OwnedByOther: names each object of another owner, and the owner.
    """
    instance, owned = before.instance, before.owned
    adopted = options.adopt
    wanted = [item for item in items if item.ref.group_kind not in later]
    live = {}
    others = {}
    going = set()
    taken: dict[ObjectRef, str] = {}
    alive: dict[str, bool] = {}
    for ref, obj in bulk_read.read_metadata(cluster, [i.ref for i in wanted]):
        other = objects.labels(obj).get(objects.INSTANCE, "")
        if objects.field(obj, ("metadata", "deletionTimestamp")):
            going.add(ref)
        elif owned.get(ref) == objects.uid(obj):
            live[ref] = _live(obj)
        elif other and ownership.applied_by(obj, objects.MANAGER + other):
            if other not in alive:
                ours = before.record_namespace if other == instance else ""
                alive[other] = other_instances.has_record(cluster, other, ours)
            # An instance without a record does not count as an owner. If this
            # instance had made an object with its own mark, its record would
            # list the object.
            doubtful = (
                other == instance
                and bool(owned)
                and ref not in adopted
                and not ownership.has_instance_label(obj, instance)
            )
            named = (
                other != instance and options.transfer_from.get(ref) == other
            )
            if alive[other] and named:
                live[ref] = _live(obj)
                taken[ref] = other
            elif alive[other] or doubtful:
                others[ref] = obj
            else:
                live[ref] = _live(obj)
        elif ref in adopted:
            live[ref] = _live(obj)
        else:
            others[ref] = obj
    foreign = [item for item in wanted if item.ref in others]
    shared = frozenset(
        item.ref
        for item, same in results_or_raise(
            cluster.map_parallel(
                lambda i: _shared(cluster, i, instance), foreign
            )
        )
        if same
    )
    refused = {
        ref: ownership.foreign_owner(obj)
        for ref, obj in others.items()
        if ref not in shared
    }
    refused.update(_ending(cluster, others, shared.difference(before.shared)))
    if refused:
        raise errors.OwnedByOther(refused)
    return ExistingObjects(live, shared, frozenset(going), taken)


def confirm_shared_owners(
    cluster: Cluster, refs: Collection[ObjectRef]
) -> None:
    """Raise Owned for what an instance shares whose owner ends by now.

    Once the record of who shares it is written: from then on an owner that
    begins to end finds it.
    """
    found = results_or_raise(
        cluster.map_parallel(cluster.get_metadata, sorted(refs))
    )
    there = {ref: obj for ref, obj in found if obj is not None}
    if refused := _ending(cluster, there, there):
        raise errors.OwnedByOther(refused)


def _ending(
    cluster: Cluster,
    others: Mapping[ObjectRef, Manifest],
    refs: Collection[ObjectRef],
) -> dict[ObjectRef, str]:
    """Return which of these belong to an instance being terminated."""
    of = {
        ref: objects.labels(others[ref]).get(objects.INSTANCE) for ref in refs
    }
    ends = {
        name: other_instances.terminating_record(cluster, name)
        for name in set(of.values())
        if name
    }
    return {
        ref: f"{ownership.foreign_owner(others[ref])}, which is being "
        f"terminated ({where}); if its end stands still, terminate it again"
        for ref, name in of.items()
        if name and (where := ends[name])
    }


def _live(obj: Manifest) -> LiveObject:
    version = objects.field(obj, ("metadata", "resourceVersion"), "")
    return LiveObject(objects.uid(obj), version)


def _shared(cluster: Cluster, item: PlacedManifest, instance: str) -> bool:
    """Whether our apply would change nothing but our label.

    It is left out: it would only ever conflict with another instance's.
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
        would = cluster.apply(
            manifest, objects.MANAGER + instance, dry_run=True
        )
    except errors.ClusterError:
        return False
    return ownership.equal_ignoring_ownership(live, would.obj)


def recover_unrecorded(
    cluster: Cluster, inventory: Inventory
) -> dict[ObjectRef, str]:
    """Return UIDs of objects written after the journal and before a crash.

    Only objects that the journal announced, that have the instance's label and
    that an apply by its field manager created are attributed to the instance.
    An object of another client that the apply met just before the crash is
    not.
    """
    pending = set(inventory.journal.pending)
    if inventory.phase is Phase.INSTANTIATING:
        # It comes before there is a record that could announce it.
        pending.add(ObjectRef("", "Namespace", "", inventory.record_namespace))
    if inventory.phase is not Phase.HEALING:
        # A heal leaves the UID of one that went until there is another.
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
