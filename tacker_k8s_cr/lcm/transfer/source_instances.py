"""Source instances of a transfer, and their locks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses

from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.lcm.preparation.prepared import Prepared
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.state import other_instances
from tacker_k8s_cr.state.session import RecordSession


@dataclasses.dataclass(frozen=True)
class SourceInstance:
    """A source instance, and its objects to transfer, with UIDs."""

    instance: str
    record_namespace: str
    ledger: RecordSession
    uids: Mapping[ObjectRef, str]

    @property
    def lock_key(self) -> tuple[str, str]:
        return self.record_namespace, self.instance


def transfer_sources(
    op: Session, ready: Prepared
) -> tuple[SourceInstance, ...]:
    """Return the source instances of the package; nothing is written.

    Raises an error if one of them is not idle, does not have the object, or
    would lose a scale target.
    """
    requested = op.options.transfer_from
    if unknown := requested.keys() - {item.ref for item in ready.items}:
        raise errors.RequestInvalid(
            f"{', '.join(map(str, sorted(unknown)))}: to be transferred "
            "from another instance, but not in the package"
        )
    uids_by_source: dict[str, dict[ObjectRef, str]] = defaultdict(dict)
    for ref, instance in ready.owners.transferred.items():
        uids_by_source[instance][ref] = ready.owners.live[ref].uid
    return tuple(
        _find_source(op, instance, uids)
        for instance, uids in sorted(uids_by_source.items())
    )


def _find_source(
    op: Session, instance: str, uids: Mapping[ObjectRef, str]
) -> SourceInstance:
    likely_namespaces = {
        op.record_namespace,
        op.namespace,
        *(ref.namespace for ref in uids),
    } - {""}
    missing = dict(uids)
    for record_namespace in other_instances.record_namespaces(
        op.cluster, instance
    ) or sorted(likely_namespaces):
        ledger = RecordSession(op.cluster, instance, record_namespace)
        with contextlib.suppress(errors.Forbidden):
            ledger.read()
        if ledger.entry is None:
            continue
        owned = ledger.inventory.owned
        missing = {r: uid for r, uid in uids.items() if owned.get(r) != uid}
        if not missing:
            ledger.read(Phase.INSTANTIATED)
            _require_no_scale_target(ledger.inventory, uids)
            return SourceInstance(instance, record_namespace, ledger, uids)
    raise errors.OwnedByOther(
        dict.fromkeys(
            missing,
            f"the instance {instance} (no readable record contains this "
            "object)",
        )
    )


def _require_no_scale_target(
    source: Inventory, refs: Collection[ObjectRef]
) -> None:
    for vdu, ref in source.vdus.items():
        if topology_replicas.cluster_ref(ref) in refs:
            raise errors.RequestInvalid(
                f"{topology_replicas.cluster_ref(ref)}: it is the scale "
                f"target of VDU {vdu} of the instance {source.instance} and "
                "cannot be transferred"
            )


@contextlib.contextmanager
def lock_all(
    op: Session, sources: Collection[SourceInstance]
) -> Iterator[Callable[[], None]]:
    """Hold the instance's lock, and for a while those of the sources.

    All instances acquire locks in one order: of two instances that transfer
    from each other at once, one gets both. The yielded value releases the
    locks of the sources.
    """
    own_key = op.record_namespace, op.instance
    ordered = sorted(sources, key=lambda source: source.lock_key)
    with contextlib.ExitStack() as locks:
        for source in ordered:
            if source.lock_key < own_key:
                locks.enter_context(source.ledger.locked(op.deadline))
        with op.locked():
            try:
                for source in ordered:
                    if source.lock_key > own_key:
                        locks.enter_context(source.ledger.locked(op.deadline))
            except errors.Error:
                if op.ledger.entry is None:
                    op.ledger.delete()
                raise
            yield locks.close
