"""The forecast of a change of package, object by object."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum
from typing import Any

from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.diff import Difference
from tacker_k8s_cr.plan.diff import Where


class ForecastAction(enum.Enum):
    """What a change of package would do with an object."""

    CREATE = "create"
    UPDATE = "update"
    RECREATE = "recreate"
    PRUNE = "prune"
    KEEP = "keep"
    SHARE = "share"
    UNCHANGED = "unchanged"
    ROLLS_MACHINES = "rolls-machines"


@dataclasses.dataclass(frozen=True)
class Rollout:
    """Machines that are replaced, and why.

    :param machines: how many the object has; None where that is unknown.
    :param parts: which of them, in words; empty for all.
    :param certain: whether they are replaced in any case, or only if a
        provider or a class requires it.
    :param causes: the fields that differ, with what they refer to.
    :param on_delete: each is replaced only when a client deletes it.
    """

    machines: int | None
    causes: tuple[str, ...]
    parts: tuple[str, ...] = ()
    certain: bool = True
    on_delete: bool = False

    def __str__(self) -> str:
        count = "" if self.machines is None else f"{self.machines} "
        verb = "are" if self.certain else "may be"
        part = f" ({'; '.join(self.parts)})" if self.parts else ""
        when = " when a client deletes them" if self.on_delete else ""
        why = "; ".join(self.causes)
        return f"{count}machine(s){part} {verb} replaced{when}: {why}"


@dataclasses.dataclass(frozen=True)
class ForecastRow:
    """One object.

    :param why: the reason, where it is not evident from the package.
    :param irreversible: what cannot be undone.
    """

    ref: ObjectRef
    action: ForecastAction
    why: str = ""
    differences: tuple[Difference, ...] = ()
    rollout: Rollout | None = None
    irreversible: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The details as lines of text, the most important first."""
        return (
            *((str(self.rollout),) if self.rollout else ()),
            *(f"cannot be undone: {text}" for text in self.irreversible),
            *((self.why,) if self.why else ()),
            *map(str, self.differences),
        )


@dataclasses.dataclass(frozen=True)
class Forecast:
    """What a change of package would do. It contains no secrets.

    :param requests: sent to the API server for it.
    :param complete: whether every object was compared, or only those whose
        change may replace Machines or may be irreversible.
    """

    instance: str
    namespace: str
    objects: tuple[ForecastRow, ...]
    complete: bool = True
    seconds: float = 0.0
    requests: int = 0

    def of(self, *actions: ForecastAction) -> tuple[ObjectRef, ...]:
        return tuple(row.ref for row in self.objects if row.action in actions)

    @property
    def rollouts(self) -> Mapping[ObjectRef, Rollout]:
        """By object, why its machines are or may be replaced."""
        return {r.ref: r.rollout for r in self.objects if r.rollout}

    @property
    def replaced(self) -> Mapping[ObjectRef, Rollout]:
        """As ``rollouts``, of those that the change itself replaces."""
        return {ref: r for ref, r in self.rollouts.items() if not r.on_delete}

    @property
    def irreversible(self) -> Mapping[ObjectRef, tuple[str, ...]]:
        """By object, what cannot be undone."""
        return {
            row.ref: row.irreversible
            for row in self.objects
            if row.irreversible
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """Machines that are replaced, and what cannot be undone: lines."""
        return (
            *(
                f"{ref}: {difference}"
                for ref, difference in self.rollouts.items()
            ),
            *(
                f"{ref}: cannot be undone: {text}"
                for ref, texts in self.irreversible.items()
                for text in texts
            ),
        )

    def with_reasons(self, why: Mapping[ObjectRef, str]) -> Forecast:
        """Return the forecast with further reasons for some objects."""
        rows = (
            dataclasses.replace(
                row, why="; ".join(filter(None, (row.why, why[row.ref])))
            )
            if row.ref in why
            else row
            for row in self.objects
        )
        return dataclasses.replace(self, objects=tuple(rows))

    def as_dict(self) -> Mapping[str, Any]:
        """Plain values for JSON."""
        return {
            "instance": self.instance,
            "namespace": self.namespace,
            "operation": "forecast",
            "seconds": round(self.seconds, 3),
            "requests": self.requests,
            "objects": [
                {
                    **row.ref._asdict(),
                    "forecast": row.action.value,
                    "reason": row.why,
                    "differences": [d.as_dict() for d in row.differences],
                    "rollout": row.rollout
                    and {
                        "machines": row.rollout.machines,
                        "parts": list(row.rollout.parts),
                        "certain": row.rollout.certain,
                        "when_deleted": row.rollout.on_delete,
                        "causes": list(row.rollout.causes),
                    },
                    "irreversible": list(row.irreversible),
                }
                for row in self.objects
            ],
        }


def rollout(
    group_kind: GroupKind,
    differences: Iterable[Difference],
    machines: int | None,
    templates: Mapping[str, Sequence[Difference]],
    live: Manifest | None = None,
    predicted: Manifest | None = None,
) -> Rollout | None:
    """Return the rollout that the differences of an object cause, if any.

    :param templates: by new name of each changed template, its differences.
    :param live: the object in the cluster.
    :param predicted: the object after the change.
    """
    causes: list[str] = []
    parts: dict[str, None] = {}
    certain = False
    differences = tuple(differences)
    changed_pools = _added_or_removed_pools(group_kind, differences)
    resumes = bool(
        live and predicted and rollouts.resumes_rollout(live, predicted)
    )
    for difference in differences:
        effect = rollouts.rollout_effect(group_kind, difference.where)
        if resumes and rollouts.is_strategy(difference.where):
            effect = rollouts.RolloutEffect()
        if (
            effect is None
            or rollouts.worker_group_path(group_kind, difference.where)
            in changed_pools
        ):
            continue
        certain = certain or effect.certain
        causes.append(_cause(difference, templates))
        if effect.part:
            parts[effect.part] = None
    if not causes:
        return None
    on_delete = bool(predicted and rollouts.has_on_delete_strategy(predicted))
    return Rollout(machines, tuple(causes), tuple(parts), certain, on_delete)


def _added_or_removed_pools(
    group_kind: GroupKind, differences: Iterable[Difference]
) -> set[Where]:
    """Return pools that are added or removed: no Machine is replaced."""
    return {
        pool
        for difference in differences
        if (pool := rollouts.worker_group_path(group_kind, difference.where))
        and difference.where == (*pool, "class")
        and None in (difference.before, difference.after)
    }


def _cause(
    difference: Difference, templates: Mapping[str, Sequence[Difference]]
) -> str:
    changed = templates.get(difference.after or "")
    if difference.where[-1:] != ("name",) or not changed:
        return str(difference)
    return f"{difference}, in which {', '.join(_spec_differences(changed))}"


def _spec_differences(differences: Sequence[Difference]) -> Iterator[str]:
    for difference in differences:
        if difference.where[:1] == ("spec",):
            yield str(difference)
