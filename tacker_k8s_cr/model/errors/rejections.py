"""Errors about objects that the API server did not accept."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.model.errors.base import ClusterError
from tacker_k8s_cr.model.errors.problems import Problem
from tacker_k8s_cr.model.objects import ObjectRef


@dataclasses.dataclass(eq=False)
class Rejected(ClusterError):
    """The server, or an admission webhook, rejected what was sent.

    :param by_admission: by admission, which checks more than the object.
    :param schema_mismatch: the manifest does not fit the schema of its kind,
        which the server answers with 500: its code is not in the sentence.
    :param fields: paths of the fields that do not fit, each with the reason.
    """

    ref: ObjectRef
    code: int
    reason: str
    message: str
    by_admission: bool = False
    schema_mismatch: bool = False
    fields: Sequence[tuple[str, str]] = ()

    def next_step(self) -> str:
        if self.by_admission:
            return (
                "Change the object as the message requires, or have the "
                "policy of the admission webhook changed; then repeat the "
                "operation"
            )
        return (
            "Correct the object in the package as the message requires, then "
            "repeat the operation"
        )

    def causes(self) -> Sequence[Problem]:
        code = "" if self.schema_mismatch else f" ({self.code} {self.reason})"
        return [Problem("", f"{self.message}{code}", self.ref)]


@dataclasses.dataclass(eq=False)
class DryRunFailed(ClusterError):
    """Refusals of several objects, found before anything was written."""

    refusals: Sequence[ClusterError]

    def next_step(self) -> str:
        steps = dict.fromkeys(error.next_step() for error in self.refusals)
        return "\n".join(steps)

    def causes(self) -> Sequence[Problem]:
        return [
            cause
            for error in self.refusals
            for cause in error.causes() or [Problem("", error.sentence())]
        ]


@dataclasses.dataclass(eq=False)
class FieldConflict(ClusterError):
    """Fields that another manager owns: by path, the managers."""

    remedy = (
        "Remove the fields from the manifest, or stop the other manager from "
        "setting them"
    )

    ref: ObjectRef
    fields: Mapping[str, str]

    def causes(self) -> Sequence[Problem]:
        return [
            Problem("", f"field {path} is owned by {manager}", self.ref)
            for path, manager in sorted(self.fields.items())
        ]


@dataclasses.dataclass(eq=False)
class Conflict(ClusterError):
    """The object changed since we read it (409 on a resourceVersion).

    :param code: of the response; 404 for an object that does not exist.
    """

    remedy = "Repeat the operation: it reads the object again"

    ref: ObjectRef
    message: str
    code: int = 409

    def causes(self) -> Sequence[Problem]:
        return [Problem("", self.message, self.ref)]
