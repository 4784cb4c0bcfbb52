"""What can go wrong, in the operator's words.

An error carries data and writes its sentence last. "Not current yet" is a
verdict, never an error: errors are for what will not mend by waiting, or
did not in the time that was given. No sentence holds a credential or a
value of a Secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import Verdict


class Error(Exception):
    """The root of all errors of ours.

    ``written`` names what the operation had written when it stopped and is
    still there. ``begun`` says whether it had written or deleted anything
    that it did not undo: if not, every object is as it was. The operation
    sets both, since who raises cannot know.
    """

    written: tuple[ObjectRef, ...] = ()
    begun: bool = False

    def sentence(self) -> str:
        """What went wrong, without what was written before."""
        return super().__str__()

    def __str__(self) -> str:
        if not self.written:
            return self.sentence()
        return f"{self.sentence()}\n{_left_behind(self.written)}"


def _left_behind(written: Sequence[ObjectRef]) -> str:
    shown = ", ".join(str(ref) for ref in written[:5])
    more = f" and {len(written) - 5} more" if len(written) > 5 else ""
    return (
        f"Written before that, and still there: {len(written)} object(s): "
        f"{shown}{more}"
    )


# -- What a package or a request says ---------------------------------------


@dataclasses.dataclass(frozen=True)
class Problem:
    """One fault of a package: where it is, and what is wrong there."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


@dataclasses.dataclass(eq=False)
class PackageInvalid(Error):
    """Faults of a package, all of them at once; nothing was written."""

    problems: Sequence[Problem]

    def sentence(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class RequestInvalid(Error):
    """A request asks for what cannot be: says what was wanted and found."""


@dataclasses.dataclass(eq=False)
class KindUnknown(Error):
    """A kind, or a version of it, that the server does not serve.

    :param version: the one asked for; empty for any.
    :param served: the versions that the server has of this kind.
    :param where: the documents of the package that name the kind.
    :param also: more of the same sort, told in one go.
    """

    group_kind: GroupKind
    version: str = ""
    served: Sequence[str] = ()
    where: Sequence[str] = ()
    also: Sequence[KindUnknown] = ()

    def sentence(self) -> str:
        return "\n".join(
            [self._line(), *(other.sentence() for other in self.also)]
        )

    def _line(self) -> str:
        start = "; ".join(self.where) + ": " if self.where else ""
        if self.served:
            return (
                f"{start}{self.group_kind} is served at "
                f"{', '.join(self.served)}, not at {self.version}"
            )
        at = f" {self.version}" if self.version else ""
        return (
            f"{start}the server does not know the kind {self.group_kind}{at}, "
            "and the package does not bring it"
        )


@dataclasses.dataclass(eq=False)
class NamespaceAbsent(Error):
    """Objects for namespaces that neither the server nor the package has."""

    absent: Mapping[str, Sequence[str]]

    def sentence(self) -> str:
        return "\n".join(
            f"{'; '.join(where)}: the namespace {name} is not there, and the "
            "package does not bring it"
            for name, where in sorted(self.absent.items())
        )


@dataclasses.dataclass(eq=False)
class Owned(Error):
    """Objects that belong to somebody else: by object, to whom."""

    owners: Mapping[ObjectRef, str]

    def sentence(self) -> str:
        return "\n".join(
            f"{ref}: exists already and belongs to {owner}"
            for ref, owner in sorted(self.owners.items())
        )


@dataclasses.dataclass(eq=False)
class WouldBeLost(Error):
    """Objects of others that would go with ours: by object, with what."""

    others: Mapping[ObjectRef, str]

    def sentence(self) -> str:
        return "\n".join(
            f"{ref}: is not known to be this instance's, and {why}"
            for ref, why in sorted(self.others.items())
        )


@dataclasses.dataclass(eq=False)
class NotScalable(Error):
    """An object whose number of replicas is not ours to set so."""

    ref: ObjectRef
    why: str

    def sentence(self) -> str:
        return f"{self.ref}: {self.why}"


@dataclasses.dataclass(eq=False)
class NotHealable(Error):
    """Members that cannot be replaced: by member, why not."""

    reasons: Mapping[ObjectRef, str]

    def sentence(self) -> str:
        return "\n".join(
            f"{ref}: {why}" for ref, why in sorted(self.reasons.items())
        )


NOT_RESTORED = "could not be restored"


@dataclasses.dataclass(eq=False)
class NotRestored(Error):
    """What a rollback could not bring back, all else being as it was."""

    reasons: Mapping[ObjectRef, str]

    def sentence(self) -> str:
        return "\n".join(
            f"{ref}: {NOT_RESTORED}: {why}"
            for ref, why in sorted(self.reasons.items())
        )


# -- Instances ---------------------------------------------------------------


@dataclasses.dataclass(eq=False)
class InstanceUnknown(Error):
    """No record of an instance of that name."""

    instance: str
    namespace: str

    def sentence(self) -> str:
        return (
            f"no instance {self.instance} has its record in the namespace "
            f"{self.namespace}"
        )


@dataclasses.dataclass(eq=False)
class InstanceExists(Error):
    """An instance of that name is there already, in another state."""

    instance: str
    found: str

    def sentence(self) -> str:
        return f"the instance {self.instance} {self.found}"


@dataclasses.dataclass(eq=False)
class Busy(Error):
    """Somebody else carries out an operation on this instance."""

    instance: str
    holder: str

    def sentence(self) -> str:
        return (
            f"another operation on the instance {self.instance} is running: "
            f"its lock is held by {self.holder}"
        )


@dataclasses.dataclass(eq=False)
class LockLost(Error):
    """Our lock on an instance went to somebody else in mid-operation."""

    instance: str
    why: str

    def sentence(self) -> str:
        return (
            f"the lock on the instance {self.instance} was lost ({self.why}); "
            "nothing more was sent"
        )


# -- What the server says ----------------------------------------------------


class ClusterError(Error):
    """The API server, or the way to it."""


@dataclasses.dataclass(eq=False)
class Unreachable(ClusterError):
    """No connection: nobody answers, or the certificate is not trusted."""

    server: str
    why: str

    def sentence(self) -> str:
        return f"the API server {self.server} cannot be reached: {self.why}"


@dataclasses.dataclass(eq=False)
class Unauthenticated(ClusterError):
    """The server does not accept our credential (401).

    :param whose: the VIM or the kubeconfig that it comes from.
    """

    server: str
    why: str = ""
    whose: str = ""

    def sentence(self) -> str:
        whose = f" of {self.whose}" if self.whose else ""
        detail = f": {self.why}" if self.why else ""
        return (
            f"the API server {self.server} refuses the credential{whose}"
            f"{detail}"
        )


class NoToken(Unauthenticated):
    """An identity provider, the server here, gives us no token."""

    def sentence(self) -> str:
        whose = f" for {self.whose}" if self.whose else ""
        return (
            f"the identity provider {self.server} gives no token{whose}: "
            f"{self.why}"
        )


@dataclasses.dataclass(eq=False)
class Forbidden(ClusterError):
    """We may not do that (403 of the authorizer): the server's own words."""

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
class RightsLacking(ClusterError):
    """What we may not do and would have to, found before any write.

    :param lacking: the verbs on each resource in each namespace.
    """

    server: str
    lacking: Sequence[str]

    def sentence(self) -> str:
        lines = [f"  {line}" for line in self.lacking]
        head = f"the user of {self.server} lacks rights that are needed:"
        return "\n".join([head, *lines])


@dataclasses.dataclass(eq=False)
class Rejected(ClusterError):
    """The server, or an admission webhook, says no to what was sent."""

    ref: ObjectRef
    code: int
    reason: str
    message: str

    def sentence(self) -> str:
        return f"{self.ref}: {self.message} ({self.code} {self.reason})"


@dataclasses.dataclass(eq=False)
class Refused(ClusterError):
    """Refusals of several objects, found before anything was written."""

    refusals: Sequence[ClusterError]

    def sentence(self) -> str:
        return "\n".join(error.sentence() for error in self.refusals)


@dataclasses.dataclass(eq=False)
class Conflict(ClusterError):
    """Fields that another manager owns: by path, the managers."""

    ref: ObjectRef
    fields: Mapping[str, str]

    def sentence(self) -> str:
        owned = "; ".join(
            f"field {path} is owned by {manager}"
            for path, manager in sorted(self.fields.items())
        )
        return f"{self.ref}: {owned}"


@dataclasses.dataclass(eq=False)
class Outdated(ClusterError):
    """The object changed since we read it (409 on a resourceVersion)."""

    ref: ObjectRef
    message: str

    def sentence(self) -> str:
        return f"{self.ref}: {self.message}"


@dataclasses.dataclass(eq=False)
class NotYet(ClusterError):
    """Not possible before something else is there: kind, namespace, hook.

    It may mend while an operation goes on, so who applies tries again
    until the deadline.

    :param also: more of the same sort, told in one go.
    """

    ref: ObjectRef
    why: str
    also: Sequence[NotYet] = ()

    def sentence(self) -> str:
        return "\n".join(
            [
                f"{self.ref}: {self.why}",
                *(other.sentence() for other in self.also),
            ]
        )


@dataclasses.dataclass(eq=False)
class Unavailable(ClusterError):
    """The server kept answering that it cannot serve now (429, 5xx)."""

    what: str
    code: int
    message: str

    def sentence(self) -> str:
        return f"{self.what}: {self.message} ({self.code})"


# -- What became of the objects ----------------------------------------------


@dataclasses.dataclass(frozen=True)
class Unsettled:
    """An object that is not where it should be, and all that explains it.

    :param age: seconds since we wrote it, or asked it to go.
    :param notes: warning events, and words of what it made or uses.
    """

    ref: ObjectRef
    verdict: Verdict
    age: float
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.ref}: {self.verdict} (for {self.age:.0f} s)"]
        return "\n    ".join([*lines, *self.notes])


@dataclasses.dataclass(eq=False)
class _WithUnsettled(Error):
    start = "{}"

    unsettled: Sequence[Unsettled]
    seconds: float

    def sentence(self) -> str:
        head = self.start.format(len(self.unsettled), self.seconds)
        return "\n".join([head, *(f"  {item}" for item in self.unsettled)])


class NotReady(_WithUnsettled):
    """The deadline passed with objects not current."""

    start = "{} object(s) not current after {:.0f} s:"


class NotGone(_WithUnsettled):
    """The deadline passed with objects still there."""

    start = "{} object(s) not gone after {:.0f} s:"


class Failed(_WithUnsettled):
    """Objects failed, or are blocked: waiting longer would not help."""

    start = "{} object(s) failed or are blocked, after {:.0f} s:"


# -- Credentials and their delivery ------------------------------------------


@dataclasses.dataclass(eq=False)
class KubeconfigInvalid(Error):
    """A kubeconfig that we cannot or may not use; never shows its values."""

    where: str
    why: str

    def sentence(self) -> str:
        return f"{self.where}: {self.why}"


@dataclasses.dataclass(eq=False)
class NotDelivered(Error):
    """A receiver did not take what we posted.

    :param url: without user information and query.
    :param status: of the last answer; 0 when there was none.
    :param answer: first line of the last answer, or why there was none.
    """

    url: str
    status: int
    answer: str

    def sentence(self) -> str:
        said = f"answered {self.status}: " if self.status else ""
        return f"{self.url}: {said}{self.answer}"


# -- Plug-ins ----------------------------------------------------------------


@dataclasses.dataclass(eq=False)
class PluginInvalid(Error):
    """A third party's handlers that cannot be used, by their entry point."""

    name: str
    why: str

    def sentence(self) -> str:
        return f"handlers of the entry point {self.name}: {self.why}"
