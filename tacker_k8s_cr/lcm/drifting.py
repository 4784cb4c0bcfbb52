"""What has drifted of an instance since it was applied: nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib

from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr.applying import drifting
from tacker_k8s_cr.applying import keeping
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import raised
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.lcm import prepare
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import DEFAULT
from tacker_k8s_cr.planning import rotation
from tacker_k8s_cr.planning.drifted import Drift
from tacker_k8s_cr.planning.drifted import Drifted
from tacker_k8s_cr.planning.drifted import Drifts
from tacker_k8s_cr.planning.placing import Placed
from tacker_k8s_cr.planning.plan import Live


def drift(
    cluster: Cluster,
    instance: str,
    *,
    namespace: str = "",
    record_namespace: str = "",
    deadline: Deadline,
    registry: Registry = kinds.BUILT_IN,
) -> Drifts:
    """How the objects of an instance differ from what it has applied.

    Told is what is missing, is another object by now, was asked to go,
    belongs to another instance, or has lost our label, and each field of a
    manifest that is not as the manifest has it. To heal all takes back what
    can be. Numbers of replicas count for nothing, whoever set them, nor
    does what others have added.

    Each object is read, and its manifest applied as a dry run. Nothing is
    written; the server asks for the right to patch all the same.
    """
    op = Operation(
        "drift",
        cluster,
        instance,
        namespace,
        deadline,
        DEFAULT,
        None,
        record_namespace,
    )
    op.ledger.read()
    inventory = op.inventory
    known = prepare.known(op.cluster, registry, inventory)
    items = _items(inventory)
    wanted = dict.fromkeys((item.ref for item in items), "")
    wanted.update(inventory.owned)
    for ref in inventory.shared:
        wanted.pop(ref, None)
    seen = drifting.found(op.cluster, wanted, op.instance)
    rows = {
        ref: row
        for ref, (row, _) in seen.items()
        # What had done its work may go by itself.
        if Drift.MISSING not in row.ways or not known[ref.group_kind].fleeting
    }
    there = {
        ref: obj
        for ref, (row, obj) in seen.items()
        if obj is not None and set(row.ways) <= {Drift.UNLABELLED}
    }
    live = {ref: Live(inventory.owned[ref]) for ref in there}
    again = tuple(item for item in items if item.ref in there)
    subresources = _subresources(op.cluster, again)
    again = keeping.carried(op.cluster, again, known, live, subresources)
    live = keeping.counted(again, known, live, subresources)
    fields = drifting.compared(op.cluster, again, op.instance, live, there)
    return Drifts(
        op.instance,
        op.namespace,
        inventory.phase.value,
        (*drifting.told(rows, fields), *_shared(op, inventory)),
        len(wanted) + len(inventory.shared),
        deadline.now - op.begun,
        op.cluster.requests - op.requests,
    )


def _items(inventory: Inventory) -> tuple[Placed, ...]:
    """The recorded manifests, by the names that their objects have."""
    where = f"the record of {inventory.instance}"
    items = tuple(
        Placed(ObjectRef.of(manifest), manifest, where)
        for manifest in inventory.manifests
    )
    return rotation.named(items, inventory.live_names)


def _subresources(
    cluster: Cluster, items: tuple[Placed, ...]
) -> Mapping[GroupKind, frozenset[str]]:
    found = {}
    for kind in {item.ref.group_kind for item in items}:
        with contextlib.suppress(errors.KindUnknown):
            found[kind] = cluster.resource(kind).subresources
    return found


def _shared(op: Operation, inventory: Inventory) -> tuple[Drifted, ...]:
    """What the instance uses, and its owner has removed."""
    looked = raised(op.cluster.each(op.cluster.get_metadata, inventory.shared))
    why = "it is shared, and its owner removed it"
    return tuple(
        Drifted(ref, "", (Drift.MISSING,), why)
        for ref, obj in sorted(looked, key=lambda found: found[0])
        if obj is None
    )
