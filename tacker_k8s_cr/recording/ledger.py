"""The record of one instance, while an operation on it goes on."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Journal
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.recording import leases
from tacker_k8s_cr.recording import lock
from tacker_k8s_cr.recording import record

LAST_WORDS = 10.0
"""Seconds for noting an error: the deadline may be what it is about."""

ERROR = 2000
"""Characters of an error that the journal keeps."""


class Ledger:
    """What the cluster holds of an instance, and our lock on it.

    :ivar entry: what was read or written last; None without a record.
    :ivar namespace: the instance's own, once its record was read.
    :param home: the namespace of the record.
    :param namespace: the instance's own; empty for what the record says.
    """

    def __init__(
        self,
        cluster: Cluster,
        instance: str,
        home: str,
        namespace: str = "",
    ):
        self.entry: record.Entry | None = None
        self._cluster = cluster
        self._instance = instance
        self._home = home
        self.namespace = namespace
        self._lock: lock.Lock | None = None

    @property
    def inventory(self) -> Inventory:
        """Raises InstanceUnknown where there is no record."""
        if self.entry is None:
            raise errors.InstanceUnknown(self._instance, self._home)
        return self.entry.inventory

    def read(self, *phases: Phase) -> None:
        """Read the record; with phases, refuse an instance in any other.

        Refuses one of the same name in another namespace as well.
        """
        self.entry = record.read(self._cluster, self._instance, self._home)
        wanted = self.namespace
        if self.entry:
            self.namespace = self.inventory.namespace
        if wanted and self.namespace != wanted:
            found, self.namespace = self.namespace, wanted
            self.entry = None
            raise errors.InstanceExists(
                self._instance,
                f"that has its record in the namespace {self._home} is one "
                f"of the namespace {found}; wanted: one of {wanted}",
            )
        if phases and self.inventory.phase not in phases:
            wanted = " or ".join(phase.value for phase in phases)
            raise errors.InstanceExists(
                self._instance,
                f"is {self.inventory.phase.value}, and must be {wanted}",
            )

    @contextlib.contextmanager
    def locked(self, deadline: Deadline) -> Iterator[None]:
        """Hold the lock; nothing may have happened since we read."""
        with lock.locked(
            self._cluster, self._instance, self._home, deadline
        ) as held:
            ref = record.secret_ref(self._instance, self._home)
            now = self._cluster.get_metadata(ref)
            if _version(now) != _version(
                self.entry.head if self.entry else None
            ):
                if now is None:
                    # The instance was terminated meanwhile, and its Lease
                    # was deleted: the one that we hold would be left.
                    held.retire()
                raise errors.Busy(self._instance)
            self._lock = held
            try:
                yield
            finally:
                self._lock = None

    @contextlib.contextmanager
    def unrecorded(self, deadline: Deadline) -> Iterator[None]:
        """Hold the lock of an instance that has no record, if one is left.

        A run may have died before there was a record, or after the record
        was gone: its Lease goes at the end.
        """
        lease = leases.ref(self._instance, self._home)
        if self._cluster.get_metadata(lease) is None:
            yield
            return
        with self.locked(deadline):
            try:
                yield
            finally:
                self.retire()

    def guard(self) -> None:
        """Raise unless the lock is ours for long enough for a request."""
        if self._lock:
            self._lock.guard()

    @property
    def writing(self) -> Cluster:
        """The cluster for writes: no attempt is sent without the lock."""
        if self._lock is None:
            return self._cluster
        return self._cluster.until(self._lock.limit)

    def check(self) -> None:
        """Raise if somebody else has the lock: enough while only waiting."""
        if self._lock:
            self._lock.check()

    def write(self, inventory: Inventory) -> None:
        """Store the inventory, on top of what we read or wrote last."""
        self.guard()
        try:
            self.entry = record.write(self.writing, inventory, self.entry)
        except errors.Outdated as error:
            raise errors.LockLost(
                self._instance, "another process wrote its record"
            ) from error

    def announce(self, inventory: Inventory) -> None:
        """Store the inventory, unless that is what is stored already."""
        if self.entry is None or self.entry.stored != inventory:
            self.write(inventory)

    def own(self, found: Mapping[ObjectRef, str]) -> None:
        """Take objects in; stored with what is written next."""
        if self.entry:
            self.entry = dataclasses.replace(
                self.entry, inventory=self.inventory.owning(found)
            )

    def applied(self, objs: Iterable[Manifest]) -> None:
        """Add the claim rules of applied objects; stored likewise."""
        if self.entry:
            self.entry = dataclasses.replace(
                self.entry, inventory=self.inventory.applying(objs)
            )

    def disown(self, gone: Iterable[ObjectRef]) -> None:
        """Take objects out; stored with what is written next."""
        if self.entry:
            self.entry = dataclasses.replace(
                self.entry, inventory=self.inventory.without(gone)
            )

    def rest(self, inventory: Inventory | None = None) -> None:
        """Store an inventory as that of an instance at rest.

        :param inventory: in the place of the one that we have.
        """
        self.write(
            dataclasses.replace(
                inventory or self.inventory,
                phase=Phase.INSTANTIATED,
                scaling={},
                journal=Journal(),
            )
        )

    def note(self, error: errors.Error, deadline: Deadline) -> None:
        """Leave in the journal why the operation ended early.

        That is not worth an error of its own, nor a lock that is lost.
        Raises LockLost where somebody has taken the lock: the error may be
        what they did.
        """
        if self._lock and not isinstance(error, errors.LockLost):
            try:
                self._lock.confirm()
            except errors.LockLost as lost:
                raise lost from error
        if self.entry is None or isinstance(error, errors.LockLost):
            return
        journal = dataclasses.replace(
            self.inventory.journal, error=error.summary()[:ERROR]
        )
        inventory = dataclasses.replace(self.inventory, journal=journal)
        last = self._lock.last if self._lock else lock.LAST
        limit = max(last, min(LAST_WORDS, deadline.left))
        brief = Deadline.after(limit, deadline.clock)
        try:
            self.entry = record.write(
                self._cluster.until(brief), inventory, self.entry
            )
        except (errors.Unavailable, errors.Unreachable):
            if self._lock:
                self._lock.unanswered()
        except errors.Error:
            return

    def retire(self) -> None:
        """Remove the record; the Lease goes when the lock is given back."""
        if self.entry:
            record.erase(self.writing, self.entry)
        if self._lock:
            self._lock.retire()

    def forget(self) -> None:
        """Write no more: the record is gone, or goes with its namespace."""
        self.entry = None


def _version(head: Manifest | None) -> str:
    return str(objects.field(head, ("metadata", "resourceVersion"), ""))
