"""Instances that give objects up to another, and all of their locks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses

from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.lcm.preparation.prepare import Prepared
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.inventory import Phase
from tacker_k8s_cr.state import other_instances
from tacker_k8s_cr.state.session import RecordSession


@dataclasses.dataclass(frozen=True)
class SourceInstance:
    """An instance that gives objects up, and which these are: with UIDs."""

    instance: str
    home: str
    ledger: RecordSession
    uids: Mapping[ObjectRef, str]

    @property
    def place(self) -> tuple[str, str]:
        return self.home, self.instance


def transfer_sources(
    op: Session, ready: Prepared
) -> tuple[SourceInstance, ...]:
    """Return the source instances of the package; nothing is written.

    Raises an error where one of them is not at rest, does not have the object,
    or would be left without a scale target.
    """
    asked = op.options.transfer_from
    if strange := asked.keys() - {item.ref for item in ready.items}:
        raise errors.RequestInvalid(
            f"{', '.join(map(str, sorted(strange)))}: to be taken from "
            "another instance, and not in the package"
        )
    wanted: dict[str, dict[ObjectRef, str]] = defaultdict(dict)
    for ref, instance in ready.owners.taken.items():
        wanted[instance][ref] = ready.owners.live[ref].uid
    return tuple(
        _giver(op, instance, uids) for instance, uids in sorted(wanted.items())
    )


def _giver(
    op: Session, instance: str, uids: Mapping[ObjectRef, str]
) -> SourceInstance:
    near = {op.home, op.namespace, *(ref.namespace for ref in uids)} - {""}
    lacking = dict(uids)
    for home in other_instances.record_namespaces(
        op.cluster, instance
    ) or sorted(near):
        ledger = RecordSession(op.cluster, instance, home)
        with contextlib.suppress(errors.Forbidden):
            ledger.read()
        if ledger.entry is None:
            continue
        owned = ledger.inventory.owned
        lacking = {r: uid for r, uid in uids.items() if owned.get(r) != uid}
        if not lacking:
            ledger.read(Phase.INSTANTIATED)
            _check_numbers(ledger.inventory, uids)
            return SourceInstance(instance, home, ledger, uids)
    raise errors.OwnedByOther(
        dict.fromkeys(
            lacking,
            f"the instance {instance}, of which no record that has it can be "
            "read",
        )
    )


def _check_numbers(giver: Inventory, refs: Collection[ObjectRef]) -> None:
    for vdu, ref in giver.vdus.items():
        if topology_replicas.cluster_ref(ref) in refs:
            raise errors.RequestInvalid(
                f"{topology_replicas.cluster_ref(ref)}: it bears the number "
                "of the VDU "
                f"{vdu} "
                f"of the instance {giver.instance}, and is not taken from it"
            )


@contextlib.contextmanager
def locked(
    op: Session, some: Collection[SourceInstance]
) -> Iterator[Callable[[], None]]:
    """Hold the instance's lock, and for a while those of the sources.

    All instances acquire locks in one order: of two instances that transfer
    from each other at once, one gets both. The yielded value releases the
    locks of the sources.
    """
    ours = op.home, op.instance
    ordered = sorted(some, key=lambda giver: giver.place)
    with contextlib.ExitStack() as theirs:
        for giver in ordered:
            if giver.place < ours:
                theirs.enter_context(giver.ledger.locked(op.deadline))
        with op.locked():
            try:
                for giver in ordered:
                    if giver.place > ours:
                        theirs.enter_context(giver.ledger.locked(op.deadline))
            except errors.Error:
                if op.ledger.entry is None:
                    op.ledger.delete()
                raise
            yield theirs.close
