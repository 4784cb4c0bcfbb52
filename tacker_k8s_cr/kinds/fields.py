"""What controllers wrote, read so that a wrong type counts as unsaid.

A status is whatever some controller wrote, and a custom resource's may
hold anything. A judgement must never stumble over it: text where a number
belongs, or a list where a mapping does, is as if nothing were there.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Path

MAX_LENGTH = 600
"""Of a controller's message in a reason; some write lists of pages."""

CONDITIONS: Path = ("status", "conditions")


def number(obj: Any, path: Path) -> int | None:
    """A whole number; None when there is none. Absent is not zero."""
    found = objects.field(obj, path)
    if isinstance(found, bool) or not isinstance(found, int):
        return None
    return found


def text(obj: Any, path: Path) -> str:
    found = objects.field(obj, path)
    return found if isinstance(found, str) else ""


def is_true(obj: Any, path: Path) -> bool:
    return objects.field(obj, path) is True


def mapping(obj: Any, path: Path) -> Mapping[str, Any]:
    found = objects.field(obj, path)
    return found if isinstance(found, Mapping) else {}


def mappings(obj: Any, path: Path) -> tuple[Mapping[str, Any], ...]:
    """The mappings of a list; what else the list holds is passed over."""
    found = objects.field(obj, path)
    if not isinstance(found, list | tuple):
        return ()
    return tuple(item for item in found if isinstance(item, Mapping))


def texts(obj: Any, path: Path) -> tuple[str, ...]:
    """The texts of a list; what else the list holds is passed over."""
    found = objects.field(obj, path)
    if not isinstance(found, list | tuple):
        return ()
    return tuple(item for item in found if isinstance(item, str))


def annotations_of(obj: Manifest) -> Mapping[str, Any]:
    return mapping(obj, ("metadata", "annotations"))


def labels_of(obj: Manifest) -> Mapping[str, Any]:
    return mapping(obj, ("metadata", "labels"))


def one_line(message: str) -> str:
    """A message without line breaks, cut where it goes on for too long."""
    line = " ".join(message.split())
    return line if len(line) <= MAX_LENGTH else line[: MAX_LENGTH - 3] + "..."


@dataclasses.dataclass(frozen=True)
class Condition:
    """One condition of a status, whichever convention it follows.

    :param severity: of Cluster API's v1beta1 conditions; empty elsewhere.
    :param observed_generation: of the object; None where it is not reported.
    """

    type: str
    status: str
    reason: str = ""
    message: str = ""
    severity: str = ""
    observed_generation: int | None = None

    def __str__(self) -> str:
        parts = [f"{self.type} is {self.status}", self.reason]
        return ": ".join(
            part for part in [*parts, one_line(self.message)] if part
        )

    @property
    def is_true(self) -> bool:
        return self.status == "True"

    @property
    def is_false(self) -> bool:
        return self.status == "False"

    @property
    def as_error(self) -> str:
        """Type and reason, as a verdict names an error."""
        return f"{self.type}/{self.reason or self.status}"

    def is_outdated(self, obj: Manifest) -> bool:
        """Does it speak for a generation older than the object's?"""
        return (
            self.observed_generation is not None
            and self.observed_generation < objects.generation(obj)
        )


def conditions(obj: Manifest, path: Path = CONDITIONS) -> dict[str, Condition]:
    """Return conditions by type, without those that have no type or status."""
    found = {}
    for item in mappings(obj, path):
        kind, status = text(item, ("type",)), text(item, ("status",))
        if kind and status:
            found[kind] = Condition(
                kind,
                status,
                text(item, ("reason",)),
                text(item, ("message",)),
                text(item, ("severity",)),
                number(item, ("observedGeneration",)),
            )
    return found


def first_with_status(
    found: Mapping[str, Condition], types: Sequence[str], status: str
) -> Condition | None:
    """The first of the types whose condition has the status."""
    for name in types:
        if name in found and found[name].status == status:
            return found[name]
    return None


def label_selector(obj: Manifest, path: Path) -> str:
    """A label selector as the query parameter wants it; empty for none.

    Both forms are read: a mapping of labels, as a ReplicationController has
    it, and ``matchLabels`` with ``matchExpressions``.
    """
    found = mapping(obj, path)
    if "matchLabels" in found or "matchExpressions" in found:
        equal = mapping(found, ("matchLabels",))
    else:
        equal = found
    parts = [
        f"{key}={value}"
        for key, value in equal.items()
        if isinstance(value, str)
    ]
    for item in mappings(found, ("matchExpressions",)):
        key, operator = text(item, ("key",)), text(item, ("operator",))
        values = ",".join(texts(item, ("values",)))
        parts += {
            "In": [f"{key} in ({values})"],
            "NotIn": [f"{key} notin ({values})"],
            "Exists": [key],
            "DoesNotExist": [f"!{key}"],
        }.get(operator, [])
    return ",".join(parts)


def selected_children(
    group_kind: GroupKind, obj: Manifest, path: Path
) -> tuple[tuple[GroupKind, str], ...]:
    """What a handler's ``made`` answers, for a selector at the path.

    An empty selector would select everything; it counts as no selector.
    """
    found = label_selector(obj, path)
    return ((group_kind, found),) if found else ()
