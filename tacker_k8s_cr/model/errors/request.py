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

    remedy = "Correct the package at these places, then repeat the operation"

    problems: Sequence[Problem]

    def causes(self) -> Sequence[Problem]:
        return self.problems


class RequestInvalid(Error):
    """Invalid request; the message has the expected and the given value.

    Each front end adds where the request or the option is corrected.
    """


@dataclasses.dataclass(eq=False)
class NotSupported(RequestInvalid):
    """The author of the package has excluded the operation.

    :param supported: the operations that are possible.
    :param ref: the object with the annotation.
    """

    remedy = (
        "Use a supported operation, or change to a package whose annotation "
        "allows this one"
    )

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
    :param others: more errors of the same class, reported together.
    """

    group_kind: GroupKind
    version: str = ""
    served: Sequence[str] = ()
    where: Sequence[str] = ()
    others: Sequence[KindNotServed] = ()
    hint: str = ""

    def next_step(self) -> str:
        errors = (self, *self.others)
        steps = []
        if any(error.served for error in errors):
            steps.append("set apiVersion to a version that is served")
        if not all(error.served for error in errors):
            steps.append(
                "install the operator or the CustomResourceDefinition of the "
                "kind, or add the definition to the package"
            )
        found = "; ".join(steps)
        return f"{found[0].upper()}{found[1:]}"

    def causes(self) -> Sequence[Problem]:
        why = self._why()
        return [
            *(Problem(where, why) for where in self.where or ("",)),
            *(cause for other in self.others for cause in other.causes()),
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

    :param missing: by namespace, the places of the objects.
    :param place: the namespace in which all objects could be instead.
    """

    remedy = (
        "Create the namespace, add it to the package, or use one that exists"
    )

    missing: Mapping[str, Sequence[str]]
    place: str = ""

    @property
    def is_optional(self) -> bool:
        """Whether the objects could be in another namespace."""
        return self.place not in self.missing

    def causes(self) -> Sequence[Problem]:
        return [
            Problem(
                where,
                f"namespace {name} does not exist, and the package does not "
                "create it",
            )
            for name, found in sorted(self.missing.items())
            for where in found
        ]


@dataclasses.dataclass(eq=False)
class OwnedByOther(Error):
    """Objects already exist and have another owner: by object, the owner."""

    remedy = "Rename the object in the package, or delete the existing one"

    owners: Mapping[ObjectRef, str]

    def causes(self) -> Sequence[Problem]:
        return [
            Problem("", f"exists already and belongs to {owner}", ref)
            for ref, owner in sorted(self.owners.items())
        ]


@dataclasses.dataclass(eq=False)
class ForeignObjects(Error):
    """Foreign objects would be deleted too: by object, the reason."""

    remedy = (
        "Delete or move these objects, or retain what they depend on "
        "(annotation on-terminate: keep)"
    )

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

    remedy = "Retain the owner too, or do not retain the object"

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

    remedy = "Restore the fields that are named, or allow the rollout"

    rollouts: Mapping[ObjectRef, str]

    def causes(self) -> Sequence[Problem]:
        return _each(self.rollouts)


@dataclasses.dataclass(eq=False)
class NotScalable(Error):
    """An object has no replica count, or not the requested one."""

    remedy = (
        "Scale an object of the instance that exists and has a replica "
        "count, to 0 or more"
    )

    ref: ObjectRef
    why: str

    def sentence(self) -> str:
        return f"{self.ref}: {self.why}"


@dataclasses.dataclass(eq=False)
class AutoscalerConflict(NotScalable):
    """An autoscaler manages the replica count.

    :param is_adjustable: whether the request may change the limits.
    """

    remedy = (
        "Set the replica count or its limits where it is managed, as named "
        "above, instead of scaling"
    )

    is_adjustable: bool = False


class MachineSelectionInvalid(NotScalable):
    """The selected Machines are not those that the scale would delete."""

    remedy = (
        "Select as many Machines of the object as the scale deletes, or "
        "none, so that its controller selects them; remove an annotation of "
        "another client first"
    )


@dataclasses.dataclass(eq=False)
class NotHealable(Error):
    """Members cannot be replaced: by member, the reason."""

    remedy = "Select other members, or remove the reason given for each"

    reasons: Mapping[ObjectRef, str]

    def causes(self) -> Sequence[Problem]:
        return _each(self.reasons)


NOT_RESTORED = "could not be restored"


@dataclasses.dataclass(eq=False)
class RollbackIncomplete(Error):
    """A rollback restored all objects except these: by object, the reason."""

    remedy = (
        "Remove the cause that is given for each object and repeat the "
        "rollback, or change to another package"
    )

    reasons: Mapping[ObjectRef, str]

    def causes(self) -> Sequence[Problem]:
        return _each(self.reasons, f"{NOT_RESTORED}: ")


def _each(reasons: Mapping[ObjectRef, str], start: str = "") -> list[Problem]:
    return [
        Problem("", f"{start}{why}", ref)
        for ref, why in sorted(reasons.items())
    ]
