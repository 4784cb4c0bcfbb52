"""Errors about permissions that the user of a credential does not have."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.model.errors import problems
from tacker_k8s_cr.model.errors.base import ClusterError
from tacker_k8s_cr.model.errors.problems import Problem


@dataclasses.dataclass(eq=False)
class Forbidden(ClusterError):
    """The authorizer denied a request (403), in the server's own words."""

    remedy = (
        "Grant this permission to the user of the credential, then repeat "
        "the operation, which continues where it stopped"
    )

    verb: str
    resource: str
    namespace: str
    message: str

    def sentence(self) -> str:
        where = (
            f"in the namespace {self.namespace}"
            if self.namespace
            else "at the cluster scope"
        )
        return (
            f"forbidden to {self.verb} {self.resource} {where}: {self.message}"
        )


@dataclasses.dataclass(eq=False)
class PermissionsMissing(ClusterError):
    """Permissions that are needed and missing, found before any write.

    :param missing: the verbs on each resource in each namespace.
    :param remedy: what the user can do next; empty for granting them.
    """

    server: str
    missing: Sequence[str]
    remedy: str = ""

    def next_step(self) -> str:
        return self.remedy or (
            "Grant them to the user of the credential, then repeat the "
            "operation"
        )

    def causes(self) -> Sequence[Problem]:
        return [Problem("", line) for line in self.missing]

    def sentence(self) -> str:
        lines = problems.limit_lines([f"  {line}" for line in self.missing])
        return "\n".join([f"missing permissions on {self.server}:", *lines])
