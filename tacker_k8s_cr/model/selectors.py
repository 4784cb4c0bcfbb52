"""Parse and match selectors: Kind.group[/namespace[/name]]."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef

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
            f"{place}{text!r}: expected a kind (Deployment.apps) or an object "
            "(Deployment.apps/edge/web)"
        )
    kind, _, group = parts[0].partition(".")
    if len(parts) == 1:
        return GroupKind(group, kind)
    namespace = parts[1] if len(parts) == 3 else ""
    return ObjectRef(group, kind, namespace, parts[-1])


def subjects(ref: ObjectRef) -> tuple[Subject, ...]:
    """Return the selectors that match an object, the most specific first."""
    anywhere = ref._replace(namespace="")
    return ref, anywhere, ref.group_kind


@dataclasses.dataclass(frozen=True, order=True)
class ExpectedKind:
    """A kind that something of the package brings at run time.

    :param namespaced: unknown before it exists.
    """

    kind: GroupKind
    namespaced: bool = True

    def __str__(self) -> str:
        return f"{self.kind}" if self.namespaced else f"{self.kind}{_CLUSTER}"


_CLUSTER = ":Cluster"


def expected(text: Any, where: str = "") -> ExpectedKind:
    """A kind, as ``Kind.group``, or ``Kind.group:Cluster`` of that scope.

    Raises RequestInvalid.
    """
    said = text if isinstance(text, str) else ""
    kind = subject(said.removesuffix(_CLUSTER) or text, where)
    if not isinstance(kind, GroupKind) or ":" in f"{kind}":
        place = f"{where}: " if where else ""
        raise errors.RequestInvalid(
            f"{place}{text!r}: expected a kind such as Router.example.org, or "
            f"Zone.example.org{_CLUSTER} if it is cluster-scoped"
        )
    return ExpectedKind(kind, not said.endswith(_CLUSTER))


# -- Two lists, of which each subject may be in one ---------------------------


@dataclasses.dataclass(frozen=True)
class KindChoice:
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


def lookup(said: Mapping[Subject, bool], ref: ObjectRef) -> bool | None:
    """Return the choice for an object; None without one."""
    if not said:  # as of nearly all objects, of which there may be many
        return None
    return next((said[s] for s in subjects(ref) if s in said), None)
