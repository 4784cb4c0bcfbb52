"""Errors about the record, the lock and the plug-ins of an instance."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.model.errors import problems
from tacker_k8s_cr.model.errors.base import Error
from tacker_k8s_cr.model.objects import ObjectRef


@dataclasses.dataclass(eq=False)
class InstanceNotFound(Error):
    """An instance of that name has no record in the namespace."""

    remedy = "Check the name of the instance and the namespace of its record"

    instance: str
    namespace: str

    def sentence(self) -> str:
        return (
            f"instance {self.instance} not found (no record in namespace "
            f"{self.namespace})"
        )


class InstanceConflict(Error):
    """The root of errors about a record that a request conflicts with.

    It is caught; one of the following classes is raised.
    """


@dataclasses.dataclass(eq=False)
class InstanceExists(InstanceConflict):
    """A new instance was requested, and one of that name has a record.

    :param phase: of that instance.
    """

    remedy = (
        "Use another name, apply another package by a change, or terminate "
        "that instance first"
    )

    instance: str
    phase: str

    def sentence(self) -> str:
        return f"instance {self.instance} already exists (phase: {self.phase})"


@dataclasses.dataclass(eq=False)
class InstanceStateConflict(InstanceConflict):
    """The phase of an instance does not allow the operation.

    :param phase: of the instance.
    :param expected: the phases that allow the operation.
    """

    remedy = (
        "Repeat or roll back the operation that ended early; an instance "
        "that is being terminated can only be terminated"
    )

    instance: str
    phase: str
    expected: Sequence[str] = ()

    def sentence(self) -> str:
        expected = f"; expected {' or '.join(self.expected)}"
        return (
            f"instance {self.instance} is {self.phase}"
            f"{expected if self.expected else ''}"
        )


@dataclasses.dataclass(eq=False)
class InstanceElsewhere(InstanceConflict):
    """The record of an instance is at another place than the request names.

    :param recorded: the VIM and namespaces of the instance.
    :param requested: those of the request.
    """

    remedy = (
        "Repeat the request for the place of the record, or use another "
        "instance"
    )

    instance: str
    recorded: str
    requested: str

    def sentence(self) -> str:
        return (
            f"instance {self.instance} already exists in {self.recorded}; "
            f"requested: {self.requested}"
        )


@dataclasses.dataclass(eq=False)
class AttemptUnverified(InstanceConflict):
    """An earlier attempt may have left objects at a place out of reach.

    :param place: the VIM and namespace of the earlier attempt.
    """

    remedy = "Use the same VIM again, or another VNF instance"

    instance: str
    place: str
    why: str

    def sentence(self) -> str:
        return (
            f"an earlier instantiation of instance {self.instance} may have "
            f"left objects in {self.place}, which cannot be read: {self.why}"
        )


@dataclasses.dataclass(eq=False)
class RecordInvalid(InstanceConflict):
    """The record of an instance is damaged, incomplete or of a later format.

    :param why: never contains what is stored.
    """

    remedy = (
        "Restore the Secrets of the record from a backup of the cluster; if "
        "its format is unknown, use the version that wrote it"
    )

    instance: str
    why: str

    def sentence(self) -> str:
        return (
            f"the record of instance {self.instance} cannot be read: "
            f"{self.why}"
        )


@dataclasses.dataclass(eq=False)
class RecordMissing(InstanceConflict):
    """An instance has no record, and objects remain that may belong to it."""

    remedy = "Delete those of the listed objects that belong to the instance"

    instance: str
    remaining: Sequence[ObjectRef]

    def sentence(self) -> str:
        named = problems.join_first(self.remaining, 20)
        return (
            f"instance {self.instance} has no record; these objects may "
            f"belong to it: {named}"
        )


@dataclasses.dataclass(eq=False)
class PreviousPackageMissing(InstanceConflict):
    """A rollback was requested, and the record has no previous package."""

    remedy = "Change the instance to the wanted package"

    instance: str

    def sentence(self) -> str:
        return (
            f"instance {self.instance} has no previous package to roll back to"
        )


@dataclasses.dataclass(eq=False)
class OperationInProgress(Error):
    """Another operation on this instance is running, or has just ended.

    :param holder: of the lock; empty for an operation that has ended while
        this one was starting.
    """

    instance: str
    holder: str = ""

    def sentence(self) -> str:
        if not self.holder:
            return (
                f"instance {self.instance} was changed by another operation "
                "after this one had read its record"
            )
        return (
            f"another operation on instance {self.instance} is running: its "
            f"lock is held by {self.holder}"
        )

    def next_step(self) -> str:
        if not self.holder:
            return "Read the status of the instance, then repeat the operation"
        return (
            "Repeat the operation when the other one has ended; the lock of "
            "a process that died expires after 15 s"
        )


@dataclasses.dataclass(eq=False)
class LockLost(Error):
    """The lock of an operation expired, or another process acquired it."""

    remedy = (
        "Repeat the operation when the API server answers and no other "
        "operation on the instance is running"
    )

    instance: str
    why: str

    def sentence(self) -> str:
        return (
            f"lost the lock on instance {self.instance} ({self.why}); "
            "stopped before the next request"
        )


@dataclasses.dataclass(eq=False)
class PluginInvalid(Error):
    """Handlers of a third party cannot be used; named by entry point."""

    remedy = (
        "Upgrade, fix or uninstall the distribution with this entry point, "
        "then repeat the operation"
    )

    name: str
    why: str

    def sentence(self) -> str:
        return f"handlers of the entry point {self.name}: {self.why}"


@dataclasses.dataclass(eq=False)
class HandlerFailed(Error):
    """A handler of a third party raised, or returned an invalid value."""

    remedy = (
        "Fix or uninstall the distribution with this entry point, then "
        "repeat the operation, which continues where it stopped"
    )

    name: str
    ref: ObjectRef
    why: str

    def sentence(self) -> str:
        return (
            f"handlers of the entry point {self.name}: {self.ref}: {self.why}"
        )
