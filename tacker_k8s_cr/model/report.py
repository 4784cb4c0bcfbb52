"""What came of an operation, as a value that a caller stores or shows."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import enum
from typing import Any

from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Verdict


class Action(enum.Enum):
    """What an operation did to an object."""

    CREATED = "created"
    CONFIGURED = "configured"
    UNCHANGED = "unchanged"
    SCALED = "scaled"
    DELETED = "deleted"
    RETAINED = "retained"
    SHARED = "shared"
    MANAGED = "managed"
    HEALED = "healed"
    ORPHANED = "orphaned"
    RECREATED = "recreated"
    SENT = "sent"
    ADOPTED = "adopted"


@dataclasses.dataclass(frozen=True)
class ObjectResult:
    """One object: what was done, where it stands, seconds until it did.

    :param seconds: None where nothing was waited for.
    :param notes: what explains where it stands, or what was done.
    """

    ref: ObjectRef
    action: Action
    verdict: Verdict
    uid: str = ""
    seconds: float | None = 0.0
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Report:
    """The outcome of an operation on an instance.

    :param seconds: from the call to the return.
    :param record_namespace: where the record lies, or lay.
    :param requests: sent to the API server for it.
    :param warnings: what the author of the package should know.
    """

    instance: str
    namespace: str
    operation: str
    objects: tuple[ObjectResult, ...]
    seconds: float = 0.0
    requests: int = 0
    phase: str = ""
    record_namespace: str = ""
    warnings: tuple[str, ...] = ()

    def count(self, action: Action) -> int:
        return sum(row.action is action for row in self.objects)

    def as_dict(self) -> Mapping[str, Any]:
        """Plain values for JSON. Holds no manifest, so no secret either."""
        return {
            "instance": self.instance,
            "namespace": self.namespace,
            "record_namespace": self.record_namespace or self.namespace,
            "operation": self.operation,
            "phase": self.phase,
            "seconds": round(self.seconds, 3),
            "requests": self.requests,
            "warnings": list(self.warnings),
            "objects": [
                {
                    "group": row.ref.group,
                    "kind": row.ref.kind,
                    "namespace": row.ref.namespace,
                    "name": row.ref.name,
                    "uid": row.uid,
                    "action": row.action.value,
                    "state": row.verdict.state.value,
                    "reason": row.verdict.reason,
                    **_seconds(row),
                    "notes": list(row.notes),
                }
                for row in self.objects
            ],
        }


def _seconds(row: ObjectResult) -> Mapping[str, float]:
    return {} if row.seconds is None else {"seconds": round(row.seconds, 3)}
