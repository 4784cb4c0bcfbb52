"""Errors of the API server, or of the connection to it."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum

from tacker_k8s_cr.model.errors import problems
from tacker_k8s_cr.model.errors.base import Error
from tacker_k8s_cr.model.errors.problems import Problem
from tacker_k8s_cr.model.objects import ObjectRef

UNTRUSTED = "its certificate is not trusted"
"""Part of the reason why a connection failed."""


class ClusterError(Error):
    """The root of errors of the API server, or the connection to it."""


@dataclasses.dataclass(eq=False)
class Unreachable(ClusterError):
    """No connection: no answer, or the certificate is not trusted."""

    server: str
    why: str

    was_sent = True

    @property
    def is_untrusted(self) -> bool:
        """Whether the certificate of the server is not trusted."""
        return UNTRUSTED in self.why

    def sentence(self) -> str:
        return f"the API server {self.server} cannot be reached: {self.why}"

    def next_step(self) -> str:
        if self.is_untrusted:
            return (
                "Check that this is the address of the API server, and set "
                "its certificate authority in the kubeconfig or the VIM"
            )
        return (
            "Check the address in the kubeconfig or the VIM, and the network "
            "and any proxy between this host and the API server; then repeat "
            "the operation"
        )


@dataclasses.dataclass(eq=False)
class Unauthenticated(ClusterError):
    """The server does not accept our credential (401).

    :param source: the VIM or the kubeconfig that it comes from.
    """

    remedy = (
        "Renew the token or the certificate of the credential, then repeat "
        "the operation, which continues where it stopped"
    )

    server: str
    why: str = ""
    source: str = ""

    def sentence(self) -> str:
        whose = f" of {self.source}" if self.source else ""
        detail = f": {self.why}" if self.why else ""
        return (
            f"the API server {self.server} refuses the credential{whose}"
            f"{detail}"
        )


class TokenRequestFailed(Unauthenticated):
    """An identity provider, the server here, does not issue a token."""

    @property
    def is_untrusted(self) -> bool:
        """Whether the certificate of the provider is not trusted."""
        return UNTRUSTED in self.why

    def next_step(self) -> str:
        if self.is_untrusted:
            return (
                "Check the URL of the identity provider, and add its "
                "certificate authority to those that are trusted for it"
            )
        return (
            "Check that the identity provider can be reached, and that it "
            "accepts this user and client; then repeat the operation"
        )

    def sentence(self) -> str:
        whose = f" for {self.source}" if self.source else ""
        return (
            f"the identity provider {self.server} gives no token{whose}: "
            f"{self.why}"
        )


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


@dataclasses.dataclass(eq=False)
class Unavailable(ClusterError):
    """The server kept answering that it cannot serve now (429, 5xx)."""

    what: str
    code: int
    message: str

    @classmethod
    def not_sent(cls, what: str) -> Unavailable:
        """The deadline passed before the request was sent."""
        error = cls(what, 408, "the deadline passed")
        error.deadline_passed = True
        return error

    @property
    def was_sent(self) -> bool:
        """Whether the server may have received the request."""
        return self.code != 408

    def sentence(self) -> str:
        return f"{self.what}: {self.message} ({self.code})"

    def next_step(self) -> str:
        if not self.was_sent:
            return "Repeat the operation with more time"
        return (
            "When the API server reports that it is ready (GET /readyz), "
            "repeat the operation, which continues where it stopped"
        )
