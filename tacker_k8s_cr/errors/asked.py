"""What is wrong with what a package or a request asks for."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.errors.root import Error
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef


@dataclasses.dataclass(frozen=True)
class Problem:
    """One fault of a package: where it is, and what is wrong there."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


@dataclasses.dataclass(eq=False)
class PackageInvalid(Error):
    """Faults of a package, all of them at once; nothing was written."""

    problems: Sequence[Problem]

    def sentence(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


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
    :param also: more of the same sort, told in one go.
    """

    group_kind: GroupKind
    version: str = ""
    served: Sequence[str] = ()
    where: Sequence[str] = ()
    also: Sequence[KindUnknown] = ()

    def sentence(self) -> str:
        return "\n".join(
            [self._line(), *(other.sentence() for other in self.also)]
        )

    def _line(self) -> str:
        start = "; ".join(self.where) + ": " if self.where else ""
        if self.served:
            return (
                f"{start}{self.group_kind} is served at "
                f"{', '.join(self.served)}, not at {self.version}"
            )
        at = f" {self.version}" if self.version else ""
        return (
            f"{start}the server does not know the kind {self.group_kind}{at}, "
            "and the package does not bring it"
        )


@dataclasses.dataclass(eq=False)
class NamespaceAbsent(Error):
    """Objects for namespaces that neither the server nor the package has."""

    absent: Mapping[str, Sequence[str]]

    def sentence(self) -> str:
        return "\n".join(
            f"{'; '.join(where)}: the namespace {name} is not there, and the "
            "package does not bring it"
            for name, where in sorted(self.absent.items())
        )


@dataclasses.dataclass(eq=False)
class Owned(Error):
    """Objects that belong to somebody else: by object, to whom."""

    owners: Mapping[ObjectRef, str]

    def sentence(self) -> str:
        return "\n".join(
            f"{ref}: exists already and belongs to {owner}"
            for ref, owner in sorted(self.owners.items())
        )


@dataclasses.dataclass(eq=False)
class WouldBeLost(Error):
    """Objects of others that would go with ours: by object, with what."""

    others: Mapping[ObjectRef, str]

    def sentence(self) -> str:
        return "\n".join(
            f"{ref}: is not known to be this instance's, and {why}"
            for ref, why in sorted(self.others.items())
        )


@dataclasses.dataclass(eq=False)
class NotKept(Error):
    """Objects that are to be kept, and would go with an owner of theirs."""

    owners: Mapping[ObjectRef, ObjectRef]

    def sentence(self) -> str:
        return "\n".join(
            f"{ref}: is to be kept, and would go with {owner}, which owns it"
            for ref, owner in sorted(self.owners.items())
        )


@dataclasses.dataclass(eq=False)
class WouldReplace(Error):
    """Machines that would be replaced, which was not asked for: why."""

    rollouts: Mapping[ObjectRef, str]

    def sentence(self) -> str:
        return "\n".join(
            f"{ref}: {why}" for ref, why in sorted(self.rollouts.items())
        )


@dataclasses.dataclass(eq=False)
class NotScalable(Error):
    """An object whose number of replicas is not ours to set so."""

    ref: ObjectRef
    why: str

    def sentence(self) -> str:
        return f"{self.ref}: {self.why}"


@dataclasses.dataclass(eq=False)
class NotHealable(Error):
    """Members that cannot be replaced: by member, why not."""

    reasons: Mapping[ObjectRef, str]

    def sentence(self) -> str:
        return "\n".join(
            f"{ref}: {why}" for ref, why in sorted(self.reasons.items())
        )


NOT_RESTORED = "could not be restored"


@dataclasses.dataclass(eq=False)
class NotRestored(Error):
    """What a rollback could not bring back, all else being as it was."""

    reasons: Mapping[ObjectRef, str]

    def sentence(self) -> str:
        return "\n".join(
            f"{ref}: {NOT_RESTORED}: {why}"
            for ref, why in sorted(self.reasons.items())
        )
