"""The record of one instance, while an operation on it goes on."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.inventory import Journal
from tacker_k8s_cr.plan.inventory import Phase
from tacker_k8s_cr.state import leases
from tacker_k8s_cr.state import lock
from tacker_k8s_cr.state import store

LAST_WORDS = 10.0
"""Seconds for noting an error: the deadline may be what it is about."""

ERROR = 2000
"""Characters of an error that the journal keeps."""


class RecordSession:
    """The record of an instance in the cluster, and the lock on it.

    :ivar entry: what was read or written last; None without a record.
    :ivar namespace: the instance's own, once its record was read.
    :param home: the namespace of the record.
    :param namespace: the instance's own; empty for that in the record.
    """

    def __init__(
        self,
        cluster: Cluster,
        instance: str,
        home: str,
        namespace: str = "",
    ):
        self.entry: store.StoredRecord | None = None
        self._cluster = cluster
        self._instance = instance
        self._home = home
        self.namespace = namespace
        self._lock: lock.LeaseLock | None = None

    @property
    def inventory(self) -> Inventory:
        """Raises InstanceNotFound where there is no record."""
        if self.entry is None:
            raise errors.InstanceNotFound(self._instance, self._home)
        return self.entry.inventory

    def read(self, *phases: Phase) -> None:
        """Read the record; with phases, refuse an instance in any other.

        Refuses one of the same name in another namespace as well.
        """
        self.entry = store.read(self._cluster, self._instance, self._home)
        wanted = self.namespace
        if self.entry:
            self.namespace = self.inventory.namespace
        if wanted and self.namespace != wanted:
            found, self.namespace = self.namespace, wanted
            self.entry = None
            raise errors.InstanceElsewhere(
                self._instance,
                f"namespace {found} (record in namespace {self._home})",
                f"namespace {wanted}",
            )
        if phases and self.inventory.phase not in phases:
            raise errors.InstanceStateConflict(
                self._instance,
                self.inventory.phase.value,
                [phase.value for phase in phases],
            )

    @contextlib.contextmanager
    def locked(self, deadline: Deadline) -> Iterator[None]:
        """Hold the lock; nothing may have happened since we read."""
        with lock.locked(
            self._cluster, self._instance, self._home, deadline
        ) as held:
            ref = store.secret_ref(self._instance, self._home)
            now = self._cluster.get_metadata(ref)
            if _version(now) != _version(
                self.entry.head if self.entry else None
            ):
                if now is None:
                    # The instance was terminated meanwhile, and its Lease
                    # was deleted: the one that we hold would be left.
                    held.delete_on_release()
                raise errors.OperationInProgress(self._instance)
            self._lock = held
            try:
                yield
            finally:
                self._lock = None

    @contextlib.contextmanager
    def lock_without_record(self, deadline: Deadline) -> Iterator[None]:
        """Hold the lock of an instance that has no record, if one is left.

        A run may have died before the record was created, or after it was
        deleted: the Lease is deleted at the end.
        """
        lease = leases.ref(self._instance, self._home)
        if self._cluster.get_metadata(lease) is None:
            yield
            return
        with self.locked(deadline):
            try:
                yield
            finally:
                self.delete()

    def guard(self) -> None:
        """Raise unless the lock is held for long enough for a request."""
        if self._lock:
            self._lock.require_margin()

    @property
    def fenced_cluster(self) -> Cluster:
        """The cluster for writes: no attempt is sent without the lock."""
        if self._lock is None:
            return self._cluster
        return self._cluster.with_deadline(self._lock.limit)

    def check(self) -> None:
        """Raise if another holder has the lock: sufficient while waiting."""
        if self._lock:
            self._lock.check()

    def write(self, inventory: Inventory) -> None:
        """Store the inventory, on top of what we read or wrote last."""
        self.guard()
        try:
            self.entry = store.write(
                self.fenced_cluster, inventory, self.entry
            )
        except errors.Conflict as error:
            raise errors.LockLost(
                self._instance, "another process wrote its record"
            ) from error

    def announce(self, inventory: Inventory) -> None:
        """Store the inventory, unless that is what is stored already."""
        if self.entry is None or self.entry.stored != inventory:
            self.write(inventory)

    def add_owned(self, found: Mapping[ObjectRef, str]) -> None:
        """Take objects in; stored with what is written next."""
        if self.entry:
            self.entry = dataclasses.replace(
                self.entry, inventory=self.inventory.with_owned(found)
            )

    def applied(self, objs: Iterable[Manifest]) -> None:
        """Add the claim rules of applied objects; stored likewise."""
        if self.entry:
            self.entry = dataclasses.replace(
                self.entry, inventory=self.inventory.with_claim_rules(objs)
            )

    def remove_owned(self, gone: Iterable[ObjectRef]) -> None:
        """Take objects out; stored with what is written next."""
        if self.entry:
            self.entry = dataclasses.replace(
                self.entry, inventory=self.inventory.without_owned(gone)
            )

    def save_idle(self, inventory: Inventory | None = None) -> None:
        """Store an inventory as that of an instance at rest.

        :param inventory: replaces the current one.
        """
        self.write(
            dataclasses.replace(
                inventory or self.inventory,
                phase=Phase.INSTANTIATED,
                former_replicas={},
                journal=Journal(),
            )
        )

    def record_error(self, error: errors.Error, deadline: Deadline) -> None:
        """Record in the journal why the operation ended early.

        A failure to do so raises no error, nor does an expired lock. Raises
        LockLost if another holder acquired the lock: its operation may have
        caused the error.
        """
        if self._lock and not isinstance(error, errors.LockLost):
            try:
                self._lock.verify_held()
            except errors.LockLost as lost:
                raise lost from error
        if self.entry is None or isinstance(error, errors.LockLost):
            return
        journal = dataclasses.replace(
            self.inventory.journal, error=error.summary()[:ERROR]
        )
        inventory = dataclasses.replace(self.inventory, journal=journal)
        last = self._lock.final_seconds if self._lock else lock.LAST
        limit = max(last, min(LAST_WORDS, deadline.remaining))
        brief = Deadline.after(limit, deadline.clock)
        try:
            self.entry = store.write(
                self._cluster.with_deadline(brief), inventory, self.entry
            )
        except (errors.Unavailable, errors.Unreachable):
            if self._lock:
                self._lock.mark_unreachable()
        except errors.Error:
            return

    def delete(self) -> None:
        """Remove the record; the Lease goes when the lock is given back."""
        if self.entry:
            store.delete_record(self.fenced_cluster, self.entry)
        if self._lock:
            self._lock.delete_on_release()

    def forget(self) -> None:
        """Write no more: the record is deleted, or its namespace will be."""
        self.entry = None


def _version(head: Manifest | None) -> str:
    return str(objects.field(head, ("metadata", "resourceVersion"), ""))
