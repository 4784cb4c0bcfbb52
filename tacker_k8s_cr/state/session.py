"""The record of one instance during an operation on it."""

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
from tacker_k8s_cr.plan.journal import Journal
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.state import leases
from tacker_k8s_cr.state import lock
from tacker_k8s_cr.state import record_secrets
from tacker_k8s_cr.state import store

ERROR_WRITE_SECONDS = 10.0
"""Seconds for recording an error, which may be the deadline's."""

MAX_ERROR_LENGTH = 2000
"""Maximum length of an error in the journal."""


class RecordSession:
    """The record of an instance in the cluster, and the lock on it.

    :ivar entry: the record last read or written; None if there is none.
    :ivar namespace: of the instance, once its record was read.
    :param home: the namespace of the record.
    :param namespace: of the instance; empty for that in the record.
    """

    def __init__(
        self,
        cluster: Cluster,
        instance: str,
        home: str,
        namespace: str = "",
    ):
        self.entry: record_secrets.StoredRecord | None = None
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
        requested = self.namespace
        if self.entry:
            self.namespace = self.inventory.namespace
        if requested and self.namespace != requested:
            recorded, self.namespace = self.namespace, requested
            self.entry = None
            raise errors.InstanceElsewhere(
                self._instance,
                f"namespace {recorded} (record in namespace {self._home})",
                f"namespace {requested}",
            )
        if phases and self.inventory.phase not in phases:
            raise errors.InstanceStateConflict(
                self._instance,
                self.inventory.phase.value,
                [phase.value for phase in phases],
            )

    @contextlib.contextmanager
    def locked(self, deadline: Deadline) -> Iterator[None]:
        """Hold the lock; raise if the record has changed since it was read."""
        with lock.locked(
            self._cluster, self._instance, self._home, deadline
        ) as held:
            ref = record_secrets.secret_ref(self._instance, self._home)
            now = self._cluster.get_metadata(ref)
            if _version(now) != _version(
                self.entry.index if self.entry else None
            ):
                if now is None:
                    # The instance was terminated meanwhile, and its Lease
                    # was deleted: the new one must not remain.
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
        """Store the inventory, replacing the one last read or written."""
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
        """Store the inventory, unless it is stored already."""
        if self.entry is None or self.entry.stored != inventory:
            self.write(inventory)

    def add_owned(self, owned: Mapping[ObjectRef, str]) -> None:
        """Add owned objects; stored with the next write."""
        if self.entry:
            self.entry = dataclasses.replace(
                self.entry, inventory=self.inventory.with_owned(owned)
            )

    def applied(self, objs: Iterable[Manifest]) -> None:
        """Add claim rules of applied objects; stored with the next write."""
        if self.entry:
            self.entry = dataclasses.replace(
                self.entry, inventory=self.inventory.with_claim_rules(objs)
            )

    def remove_owned(self, deleted: Iterable[ObjectRef]) -> None:
        """Remove owned objects; stored with the next write."""
        if self.entry:
            self.entry = dataclasses.replace(
                self.entry, inventory=self.inventory.without_owned(deleted)
            )

    def save_idle(self, inventory: Inventory | None = None) -> None:
        """Store an inventory as that of an idle instance.

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
            self.inventory.journal, error=error.summary()[:MAX_ERROR_LENGTH]
        )
        inventory = dataclasses.replace(self.inventory, journal=journal)
        final_seconds = (
            self._lock.final_seconds if self._lock else lock.FINAL_SECONDS
        )
        limit = max(
            final_seconds, min(ERROR_WRITE_SECONDS, deadline.remaining)
        )
        write_deadline = Deadline.after(limit, deadline.clock)
        try:
            self.entry = store.write(
                self._cluster.with_deadline(write_deadline),
                inventory,
                self.entry,
            )
        except (errors.Unavailable, errors.Unreachable):
            if self._lock:
                self._lock.mark_unreachable()
        except errors.Error:
            return

    def delete(self) -> None:
        """Delete the record; release of the lock deletes the Lease."""
        if self.entry:
            store.delete_record(self.fenced_cluster, self.entry)
        if self._lock:
            self._lock.delete_on_release()

    def forget(self) -> None:
        """Stop writing: the record is deleted, or its namespace will be."""
        self.entry = None


def _version(index: Manifest | None) -> str:
    return str(objects.field(index, ("metadata", "resourceVersion"), ""))
