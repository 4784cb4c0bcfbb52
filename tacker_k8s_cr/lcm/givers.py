"""Instances that give objects up to another, and all of their locks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.kinds import entries
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.lcm.prepare import Prepared
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.recording import neighbours
from tacker_k8s_cr.recording.ledger import Ledger


@dataclasses.dataclass(frozen=True)
class Giver:
    """An instance that gives objects up, and which these are: with UIDs."""

    instance: str
    home: str
    ledger: Ledger
    uids: Mapping[ObjectRef, str]

    @property
    def place(self) -> tuple[str, str]:
        return self.home, self.instance


def of_package(op: Operation, ready: Prepared) -> tuple[Giver, ...]:
    """Whom the package takes objects from; nothing is written.

    Raises an error where one of them is not at rest, has not got the
    object, or would be left without the bearer of a number.
    """
    asked = op.options.take_from
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
    op: Operation, instance: str, uids: Mapping[ObjectRef, str]
) -> Giver:
    near = {op.home, op.namespace, *(ref.namespace for ref in uids)} - {""}
    lacking = dict(uids)
    for home in neighbours.homes(op.cluster, instance) or sorted(near):
        ledger = Ledger(op.cluster, instance, home)
        with contextlib.suppress(errors.Forbidden):
            ledger.read()
        if ledger.entry is None:
            continue
        owned = ledger.inventory.owned
        lacking = {r: uid for r, uid in uids.items() if owned.get(r) != uid}
        if not lacking:
            ledger.read(Phase.INSTANTIATED)
            _check_numbers(ledger.inventory, uids)
            return Giver(instance, home, ledger, uids)
    raise errors.Owned(
        dict.fromkeys(
            lacking,
            f"the instance {instance}, of which no record that has it can be "
            "read",
        )
    )


def _check_numbers(giver: Inventory, refs: Collection[ObjectRef]) -> None:
    for vdu, ref in giver.vdus.items():
        if entries.owner(ref) in refs:
            raise errors.RequestInvalid(
                f"{entries.owner(ref)}: it bears the number of the VDU {vdu} "
                f"of the instance {giver.instance}, and is not taken from it"
            )


@contextlib.contextmanager
def locked(
    op: Operation, some: Collection[Giver]
) -> Iterator[Callable[[], None]]:
    """Hold the instance's lock, and for a while those of givers.

    Locks are taken in one order by all: of two instances that take from
    each other at once, one gets both. What is yielded lets the givers go.
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
                    op.ledger.retire()
                raise
            yield theirs.close
