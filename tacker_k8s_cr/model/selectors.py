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


def parse_subject(text: Any, where: str = "") -> Subject:
    """A kind or an object, as we show them: ``Kind.group[/namespace]/name``.

    Raises RequestInvalid.
    """
    parts = text.split("/") if isinstance(text, str) else ()
    if not 1 <= len(parts) <= 3 or not all(parts):
        prefix = f"{where}: " if where else ""
        raise errors.RequestInvalid(
            f"{prefix}{text!r}: expected a kind (Deployment.apps) or an "
            "object (Deployment.apps/edge/web)"
        )
    kind, _, group = parts[0].partition(".")
    if len(parts) == 1:
        return GroupKind(group, kind)
    namespace = parts[1] if len(parts) == 3 else ""
    return ObjectRef(group, kind, namespace, parts[-1])


def matching_subjects(ref: ObjectRef) -> tuple[Subject, ...]:
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


def parse_expected_kind(text: Any, where: str = "") -> ExpectedKind:
    """A kind, as ``Kind.group``, or ``Kind.group:Cluster`` of that scope.

    Raises RequestInvalid.
    """
    name = text if isinstance(text, str) else ""
    kind = parse_subject(name.removesuffix(_CLUSTER) or text, where)
    if not isinstance(kind, GroupKind) or ":" in f"{kind}":
        prefix = f"{where}: " if where else ""
        raise errors.RequestInvalid(
            f"{prefix}{text!r}: expected a kind such as Router.example.org, "
            f"or Zone.example.org{_CLUSTER} if it is cluster-scoped"
        )
    return ExpectedKind(kind, not name.endswith(_CLUSTER))


# -- Two lists, of which each subject may be in one ---------------------------


@dataclasses.dataclass(frozen=True)
class KindChoice:
    """The names of the two lists: what is chosen, and what is not."""

    chosen: str
    excluded: str

    def read(
        self, where: str, values: Mapping[str, Any]
    ) -> dict[Subject, bool]:
        """What plain values choose. Raises RequestInvalid."""
        choices: dict[Subject, bool] = {}
        for name, wanted in ((self.chosen, True), (self.excluded, False)):
            for text in values.get(name) or ():
                found = parse_subject(text, f"{where}.{name}")
                if choices.get(found, wanted) is not wanted:
                    raise errors.RequestInvalid(
                        f"{where}: {text} is in {self.chosen} and in "
                        f"{self.excluded}"
                    )
                choices[found] = wanted
        return choices

    def as_lists(
        self, choices: Mapping[Subject, bool]
    ) -> dict[str, list[str]]:
        """The same as plain values."""
        return {
            self.chosen: [str(s) for s, chosen in choices.items() if chosen],
            self.excluded: [
                str(s) for s, chosen in choices.items() if not chosen
            ],
        }


def lookup(choices: Mapping[Subject, bool], ref: ObjectRef) -> bool | None:
    """Return the choice for an object; None without one."""
    if not choices:  # as of nearly all objects, of which there may be many
        return None
    return next(
        (choices[s] for s in matching_subjects(ref) if s in choices), None
    )
