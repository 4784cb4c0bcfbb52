"""What is wrong with what a package or a request asks for."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.errors.problems import Problem
from tacker_k8s_cr.errors.root import Error
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef


@dataclasses.dataclass(eq=False)
class PackageInvalid(Error):
    """Faults of a package, all of them at once; nothing was written."""

    problems: Sequence[Problem]

    def causes(self) -> Sequence[Problem]:
        return self.problems


class RequestInvalid(Error):
    """A request asks for what cannot be: says what was wanted and found."""


@dataclasses.dataclass(eq=False)
class NotSupported(RequestInvalid):
    """An operation that the author of the package has excluded.

    :param supported: the operations that are possible.
    :param ref: the object that says so.
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
class KindUnknown(Error):
    """A kind, or a version of it, that the server does not serve.

    :param version: the one asked for; empty for any.
    :param served: the versions that the server has of this kind.
    :param where: the documents of the package that name the kind.
    :param hint: what to write instead.
    :param also: more of the same sort, told in one go.
    """

    group_kind: GroupKind
    version: str = ""
    served: Sequence[str] = ()
    where: Sequence[str] = ()
    also: Sequence[KindUnknown] = ()
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
                "package does not bring its definition"
            )
        return f"{why}; {self.hint}" if self.hint else why


@dataclasses.dataclass(eq=False)
class NamespaceAbsent(Error):
    """Objects for namespaces that neither the server nor the package has.

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
class Owned(Error):
    """Objects that belong to somebody else: by object, to whom."""

    owners: Mapping[ObjectRef, str]

    def causes(self) -> Sequence[Problem]:
        return [
            Problem("", f"exists already and belongs to {owner}", ref)
            for ref, owner in sorted(self.owners.items())
        ]


@dataclasses.dataclass(eq=False)
class WouldBeLost(Error):
    """Objects of others that would go with ours: by object, with what."""

    others: Mapping[ObjectRef, str]

    def causes(self) -> Sequence[Problem]:
        return [
            Problem("", f"is not known to be this instance's, and {why}", ref)
            for ref, why in sorted(self.others.items())
        ]


@dataclasses.dataclass(eq=False)
class NotKept(Error):
    """Objects that are to be kept, and would go with an owner of theirs."""

    owners: Mapping[ObjectRef, ObjectRef]

    def causes(self) -> Sequence[Problem]:
        return [
            Problem(
                "",
                f"is to be kept, and would go with {owner}, which owns it",
                ref,
            )
            for ref, owner in sorted(self.owners.items())
        ]


@dataclasses.dataclass(eq=False)
class WouldReplace(Error):
    """Machines that would be replaced, which was not asked for: why."""

    rollouts: Mapping[ObjectRef, str]

    def causes(self) -> Sequence[Problem]:
        return _each(self.rollouts)


@dataclasses.dataclass(eq=False)
class NotScalable(Error):
    """An object whose number of replicas may not be set this way.

    :param movable: whether it may be set if the limits of its autoscaler may
        be changed.
    """

    ref: ObjectRef
    why: str
    movable: bool = False

    def sentence(self) -> str:
        return f"{self.ref}: {self.why}"


@dataclasses.dataclass(eq=False)
class NotHealable(Error):
    """Members that cannot be replaced: by member, why not."""

    reasons: Mapping[ObjectRef, str]

    def causes(self) -> Sequence[Problem]:
        return _each(self.reasons)


NOT_RESTORED = "could not be restored"


@dataclasses.dataclass(eq=False)
class NotRestored(Error):
    """What a rollback could not bring back, all else being as it was."""

    reasons: Mapping[ObjectRef, str]

    def causes(self) -> Sequence[Problem]:
        return _each(self.reasons, f"{NOT_RESTORED}: ")


def _each(reasons: Mapping[ObjectRef, str], start: str = "") -> list[Problem]:
    return [
        Problem("", f"{start}{why}", ref)
        for ref, why in sorted(reasons.items())
    ]
