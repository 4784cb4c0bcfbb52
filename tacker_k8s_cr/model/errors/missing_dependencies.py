"""Errors about objects that cannot be written before others exist."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum

from tacker_k8s_cr.model.errors import problems
from tacker_k8s_cr.model.errors.base import ClusterError
from tacker_k8s_cr.model.errors.problems import Problem
from tacker_k8s_cr.model.objects import ObjectRef


class Outlook(enum.Enum):
    """How long it makes sense to retry what is not possible yet."""

    OPEN = "until the deadline"
    DOUBTFUL = "until the stall timeout"
    NONE = "while other objects are in progress"


@dataclasses.dataclass(eq=False)
class DependencyMissing(ClusterError):
    """Not possible before a kind, a namespace or a webhook is available.

    This may change during an operation, so applies are retried until the
    deadline.

    :param others: more errors of the same kind, reported together.
    :param webhook: the webhook that is waited for, if any.
    :param missing: kind and name of the missing object, if known; a
        namespaced object is ``namespace/name``.
    :param cause: why the webhook could not be called.
    :param outlook: whether waiting may help.
    """

    ref: ObjectRef
    why: str
    others: Sequence[DependencyMissing] = ()
    webhook: str = ""
    missing: tuple[str, str] = ("", "")
    cause: str = ""
    outlook: Outlook = Outlook.OPEN

    def next_step(self) -> str:
        steps = dict.fromkeys(
            error._own_step() for error in (self, *self.others)
        )
        return "\n".join(problems.limit_lines(list(steps)))

    def _own_step(self) -> str:
        kind, name = self.missing
        if self.webhook:
            return (
                f"Check the Service, the Pods and the certificate of "
                f"{self._webhook_name()}, then repeat the operation"
            )
        if kind and name:
            return (
                f"Create {kind} {name}, or find out why its controller has "
                "not created it; then repeat the operation"
            )
        return (
            "Check the object, the kind or the namespace that the message "
            "names, and what should create it; then repeat the operation"
        )

    def _webhook_name(self) -> str:
        named = self.webhook.startswith("conversion webhook ")
        return self.webhook if named else f"webhook {self.webhook}"

    @property
    def brief(self) -> str:
        """The reason in a few words, for a display."""
        if self.webhook and self.cause:
            return f"{self._webhook_name()}: {self.cause}"
        return " ".join(self.why.split())

    @property
    def unwritten(self) -> Mapping[ObjectRef, str]:
        """The reason for each object that is not written."""
        return {error.ref: error.why for error in (self, *self.others)}

    def causes(self) -> Sequence[Problem]:
        return [
            Problem("", self.why, self.ref),
            *(cause for other in self.others for cause in other.causes()),
        ]
