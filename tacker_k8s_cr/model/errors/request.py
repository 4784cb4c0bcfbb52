"""Errors about a package or a request."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.model.errors.base import Error
from tacker_k8s_cr.model.errors.problems import Problem
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef


@dataclasses.dataclass(eq=False)
class PackageInvalid(Error):
    """A package has faults; all are reported at once, nothing was written."""

    problems: Sequence[Problem]

    def causes(self) -> Sequence[Problem]:
        return self.problems


class RequestInvalid(Error):
    """Invalid request; the message has the expected and the given value."""


@dataclasses.dataclass(eq=False)
class NotSupported(RequestInvalid):
    """The author of the package has excluded the operation.

    :param supported: the operations that are possible.
    :param ref: the object with the annotation.
    """

    operation: str
    instance: str
    supported: Sequence[str]
    ref: ObjectRef

    def sentence(self) -> str:
        return (
            f"{self.operation}: not supported by the package of "
            f"{self.instance}, which supports {', '.join(self.supported)} "
            f"only (annotation operations of {self.ref})"
        )


@dataclasses.dataclass(eq=False)
class KindNotServed(Error):
    """The server does not serve a kind, or a version of it.

    :param version: the one asked for; empty for any.
    :param served: the versions that the server has of this kind.
    :param where: the documents of the package that name the kind.
    :param hint: what to write instead.
    :param also: more errors of the same class, reported together.
    """

    group_kind: GroupKind
    version: str = ""
    served: Sequence[str] = ()
    where: Sequence[str] = ()
    also: Sequence[KindNotServed] = ()
    hint: str = ""

    def causes(self) -> Sequence[Problem]:
        why = self._why()
        return [
            *(Problem(where, why) for where in self.where or ("",)),
            *(cause for other in self.also for cause in other.causes()),
        ]

    def _why(self) -> str:
        at = f" {self.version}" if self.version else ""
        if self.served:
            why = (
                f"{self.group_kind} is served at {', '.join(self.served)}, "
                f"not at {self.version}"
            )
        else:
            why = (
                f"the server does not serve {self.group_kind}{at}, and the "
                "package does not contain its definition"
            )
        return f"{why}; {self.hint}" if self.hint else why


@dataclasses.dataclass(eq=False)
class NamespaceNotFound(Error):
    """Neither the server nor the package has the namespace of an object.

    :param absent: by namespace, the places of the objects.
    :param place: the namespace in which all objects could be instead.
    """

    absent: Mapping[str, Sequence[str]]
    place: str = ""

    @property
    def avoidable(self) -> bool:
        """Whether the objects could be in another namespace."""
        return self.place not in self.absent

    def causes(self) -> Sequence[Problem]:
        return [
            Problem(
                where,
                f"namespace {name} does not exist, and the package does not "
                "create it; create it or name another one",
            )
            for name, found in sorted(self.absent.items())
            for where in found
        ]


@dataclasses.dataclass(eq=False)
class OwnedByOther(Error):
    """Objects already exist and have another owner: by object, the owner."""

    owners: Mapping[ObjectRef, str]

    def causes(self) -> Sequence[Problem]:
        return [
            Problem("", f"exists already and belongs to {owner}", ref)
            for ref, owner in sorted(self.owners.items())
        ]


@dataclasses.dataclass(eq=False)
class ForeignObjects(Error):
    """Foreign objects would be deleted too: by object, the reason."""

    others: Mapping[ObjectRef, str]

    def causes(self) -> Sequence[Problem]:
        return [
            Problem(
                "",
                "does not belong to this instance but would be deleted: "
                f"{why}",
                ref,
            )
            for ref, why in sorted(self.others.items())
        ]


@dataclasses.dataclass(eq=False)
class RetentionImpossible(Error):
    """Objects are to be retained, and their only owner is being deleted."""

    owners: Mapping[ObjectRef, ObjectRef]

    def causes(self) -> Sequence[Problem]:
        return [
            Problem(
                "",
                f"must be retained, but its owner {owner} is being deleted",
                ref,
            )
            for ref, owner in sorted(self.owners.items())
        ]


@dataclasses.dataclass(eq=False)
class RolloutRefused(Error):
    """A change would replace Machines, which the request does not allow."""

    rollouts: Mapping[ObjectRef, str]

    def causes(self) -> Sequence[Problem]:
        return _each(self.rollouts)


@dataclasses.dataclass(eq=False)
class NotScalable(Error):
    """An object has no replica count, or not the requested one."""

    ref: ObjectRef
    why: str

    def sentence(self) -> str:
        return f"{self.ref}: {self.why}"


@dataclasses.dataclass(eq=False)
class AutoscalerConflict(NotScalable):
    """An autoscaler manages the replica count.

    :param movable: whether the request may change the autoscaler's limits.
    """

    movable: bool = False


class MachineSelectionInvalid(NotScalable):
    """The selected Machines are not those that the scale would delete."""


@dataclasses.dataclass(eq=False)
class NotHealable(Error):
    """Members cannot be replaced: by member, the reason."""

    reasons: Mapping[ObjectRef, str]

    def causes(self) -> Sequence[Problem]:
        return _each(self.reasons)


NOT_RESTORED = "could not be restored"


@dataclasses.dataclass(eq=False)
class RollbackIncomplete(Error):
    """A rollback restored all objects except these: by object, the reason."""

    reasons: Mapping[ObjectRef, str]

    def causes(self) -> Sequence[Problem]:
        return _each(self.reasons, f"{NOT_RESTORED}: ")


def _each(reasons: Mapping[ObjectRef, str], start: str = "") -> list[Problem]:
    return [
        Problem("", f"{start}{why}", ref)
        for ref, why in sorted(reasons.items())
    ]
