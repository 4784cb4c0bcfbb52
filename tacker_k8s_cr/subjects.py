"""What is said of kinds and of objects: naming them, and choosing by them."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef

Subject = GroupKind | ObjectRef
"""All objects of a kind, or one. An object without a namespace stands for
those of its name in any."""


def subject(text: Any, where: str = "") -> Subject:
    """A kind or an object, as we show them: ``Kind.group[/namespace]/name``.

    Raises RequestInvalid.
    """
    parts = text.split("/") if isinstance(text, str) else ()
    if not 1 <= len(parts) <= 3 or not all(parts):
        place = f"{where}: " if where else ""
        raise errors.RequestInvalid(
            f"{place}{text!r} is no kind, such as Deployment.apps, and no "
            "object, such as Deployment.apps/edge/web"
        )
    kind, _, group = parts[0].partition(".")
    if len(parts) == 1:
        return GroupKind(group, kind)
    namespace = parts[1] if len(parts) == 3 else ""
    return ObjectRef(group, kind, namespace, parts[-1])


def subjects(ref: ObjectRef) -> tuple[Subject, ...]:
    """What may be said of an object, the most particular first."""
    anywhere = ref._replace(namespace="")
    return ref, anywhere, ref.group_kind


@dataclasses.dataclass(frozen=True, order=True)
class Expected:
    """A kind that something of the package brings at run time.

    :param namespaced: nobody can tell before it is there.
    """

    kind: GroupKind
    namespaced: bool = True

    def __str__(self) -> str:
        return f"{self.kind}" if self.namespaced else f"{self.kind}{_CLUSTER}"


_CLUSTER = ":Cluster"


def expected(text: Any, where: str = "") -> Expected:
    """A kind, as ``Kind.group``, or ``Kind.group:Cluster`` of that scope.

    Raises RequestInvalid.
    """
    said = text if isinstance(text, str) else ""
    kind = subject(said.removesuffix(_CLUSTER) or text, where)
    if not isinstance(kind, GroupKind) or ":" in f"{kind}":
        place = f"{where}: " if where else ""
        raise errors.RequestInvalid(
            f"{place}{text!r} is no kind, such as Router.example.org, or "
            f"Zone.example.org{_CLUSTER} where it has no namespaces"
        )
    return Expected(kind, not said.endswith(_CLUSTER))


# -- Two lists, of which each subject may be in one ---------------------------


@dataclasses.dataclass(frozen=True)
class Choice:
    """The names of the two lists: what is chosen, and what is not."""

    yes: str
    no: str

    def read(
        self, where: str, given: Mapping[str, Any]
    ) -> dict[Subject, bool]:
        """What plain values choose. Raises RequestInvalid."""
        said: dict[Subject, bool] = {}
        for name, wanted in ((self.yes, True), (self.no, False)):
            for text in given.get(name) or ():
                found = subject(text, f"{where}.{name}")
                if said.get(found, wanted) is not wanted:
                    raise errors.RequestInvalid(
                        f"{where}: {text} is in {self.yes} and in {self.no}"
                    )
                said[found] = wanted
        return said

    def listed(self, said: Mapping[Subject, bool]) -> dict[str, list[str]]:
        """The same as plain values."""
        return {
            self.yes: [str(s) for s, chosen in said.items() if chosen],
            self.no: [str(s) for s, chosen in said.items() if not chosen],
        }


def chosen(said: Mapping[Subject, bool], ref: ObjectRef) -> bool | None:
    """What is chosen for an object; None where nothing is said of it."""
    if not said:  # as of nearly all objects, of which there may be many
        return None
    return next((said[s] for s in subjects(ref) if s in said), None)
