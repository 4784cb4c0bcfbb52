"""What stands in the way of an operation on an instance."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr.errors.root import Error
from tacker_k8s_cr.objects import ObjectRef


@dataclasses.dataclass(eq=False)
class InstanceUnknown(Error):
    """No record of an instance of that name."""

    instance: str
    namespace: str

    def sentence(self) -> str:
        return (
            f"no instance {self.instance} has its record in the namespace "
            f"{self.namespace}"
        )


@dataclasses.dataclass(eq=False)
class InstanceExists(Error):
    """An instance of that name is there already, in another state."""

    instance: str
    found: str

    def sentence(self) -> str:
        return f"the instance {self.instance} {self.found}"


@dataclasses.dataclass(eq=False)
class Busy(Error):
    """Another operation on this instance is running, or has just ended.

    :param holder: of the lock; empty for an operation that has ended while
        this one was starting.
    """

    instance: str
    holder: str = ""

    def sentence(self) -> str:
        if not self.holder:
            return (
                f"the instance {self.instance} was changed by another "
                "operation after this one had read its record; nothing was "
                "written: run this operation again"
            )
        return (
            f"another operation on the instance {self.instance} is running: "
            f"its lock is held by {self.holder}"
        )


@dataclasses.dataclass(eq=False)
class LockLost(Error):
    """Our lock on an instance went to somebody else in mid-operation."""

    instance: str
    why: str

    def sentence(self) -> str:
        return (
            f"the lock on the instance {self.instance} was lost ({self.why}); "
            "nothing more was sent"
        )


@dataclasses.dataclass(eq=False)
class PluginInvalid(Error):
    """A third party's handlers that cannot be used, by their entry point."""

    name: str
    why: str

    def sentence(self) -> str:
        return f"handlers of the entry point {self.name}: {self.why}"


@dataclasses.dataclass(eq=False)
class HandlerFailed(Error):
    """A third party's handler that raised, or gave what is no answer."""

    name: str
    ref: ObjectRef
    why: str

    def sentence(self) -> str:
        return (
            f"handlers of the entry point {self.name}: {self.ref}: {self.why}"
        )
