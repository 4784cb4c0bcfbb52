"""Find whose the objects are that are there already."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import ownership
from tacker_k8s_cr.applying import living
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning.placing import Placed
from tacker_k8s_cr.planning.plan import Live
from tacker_k8s_cr.recording import neighbours


@dataclasses.dataclass(frozen=True)
class Owners:
    """What of a package is there already.

    :param live: objects that are the instance's.
    :param shared: objects of others that are just as the package wants.
    :param going: objects that are asked to go; the apply waits for that.
    :param taken: those of other instances that are to be taken: from whom.
    """

    live: Mapping[ObjectRef, Live]
    shared: frozenset[ObjectRef]
    going: frozenset[ObjectRef] = frozenset()
    taken: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)


def found(
    cluster: Cluster,
    items: Sequence[Placed],
    instance: str,
    namespace: str,
    owned: Mapping[ObjectRef, str],
    later: Collection[GroupKind],
    adopted: Collection[ObjectRef] = (),
    take_from: Mapping[ObjectRef, str] | None = None,
    sharing: Collection[ObjectRef] = (),
) -> Owners:
    """Find whose the objects are that are there already.

    :param namespace: of the instance's record.
    :param owned: UIDs that the inventory holds.
    :param later: kinds that are not served at all, so have no objects.
    :param adopted: objects to take over from whoever has them, unless that
        is another instance, which would go on to count them as its own.
    :param take_from: objects to take over from that instance.
    :param sharing: what the instance shares already: its owner, should it
        end, knows of that. One that ends is no owner to begin with.

    Raises Owned, naming every object of somebody else and that somebody.
    """
    wanted = [item for item in items if item.ref.group_kind not in later]
    live = {}
    others = {}
    going = set()
    taken: dict[ObjectRef, str] = {}
    alive: dict[str, bool] = {}
    for ref, obj in living.metadata(cluster, [i.ref for i in wanted]):
        other = objects.labels(obj).get(objects.INSTANCE, "")
        if objects.field(obj, ("metadata", "deletionTimestamp")):
            going.add(ref)
        elif owned.get(ref) == objects.uid(obj):
            live[ref] = _live(obj)
        elif other and ownership.applied_by(obj, objects.MANAGER + other):
            if other not in alive:
                ours = namespace if other == instance else ""
                alive[other] = neighbours.alive(cluster, other, ours)
            # An instance without a record counts as nobody. What bears our
            # own mark the record would know, if we had made it.
            doubtful = (
                other == instance
                and bool(owned)
                and ref not in adopted
                and not ownership.ours(obj, instance)
            )
            named = other != instance and (take_from or {}).get(ref) == other
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
        for item, same in raised(
            cluster.each(lambda i: _shared(cluster, i, instance), foreign)
        )
        if same
    )
    refused = {
        ref: ownership.owner(obj)
        for ref, obj in others.items()
        if ref not in shared
    }
    refused.update(_ending(cluster, others, shared.difference(sharing)))
    if refused:
        raise errors.Owned(refused)
    return Owners(live, shared, frozenset(going), taken)


def confirm(cluster: Cluster, refs: Collection[ObjectRef]) -> None:
    """Raise Owned for what an instance shares whose owner ends by now.

    Once the record of who shares it is written: from then on an owner that
    begins to end finds it.
    """
    found = raised(cluster.each(cluster.get_metadata, sorted(refs)))
    there = {ref: obj for ref, obj in found if obj is not None}
    if refused := _ending(cluster, there, there):
        raise errors.Owned(refused)


def _ending(
    cluster: Cluster,
    others: Mapping[ObjectRef, Manifest],
    refs: Collection[ObjectRef],
) -> dict[ObjectRef, str]:
    """Of these, what goes with an instance that is being removed."""
    of = {
        ref: objects.labels(others[ref]).get(objects.INSTANCE) for ref in refs
    }
    ends = {
        name: neighbours.ending(cluster, name)
        for name in set(of.values())
        if name
    }
    return {
        ref: f"{ownership.owner(others[ref])}, which is being terminated "
        f"({where}); if its end stands still, terminate it again"
        for ref, name in of.items()
        if name and (where := ends[name])
    }


def _live(obj: Manifest) -> Live:
    version = objects.field(obj, ("metadata", "resourceVersion"), "")
    return Live(objects.uid(obj), version)


def _shared(cluster: Cluster, item: Placed, instance: str) -> bool:
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
    return ownership.same(live, would.obj)


def left_by_crash(
    cluster: Cluster, inventory: Inventory
) -> dict[ObjectRef, str]:
    """UIDs of what was written after the journal, and before a crash.

    Only what the journal announced, what bears our label, and what our
    manager's apply made is taken for ours. An object of somebody else that
    our apply met just before the crash is not.
    """
    pending = set(inventory.journal.pending)
    if inventory.phase is Phase.INSTANTIATING:
        # It comes before there is a record that could announce it.
        pending.add(ObjectRef("", "Namespace", "", inventory.home))
    if inventory.phase is not Phase.HEALING:
        # A heal leaves the UID of one that went until there is another.
        pending -= inventory.owned.keys()
    doubtful = sorted(pending)
    return {
        ref: objects.uid(obj)
        for ref, obj in raised(cluster.each(cluster.get_metadata, doubtful))
        if obj is not None and ownership.ours(obj, inventory.instance)
    }
