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


class PackageInvalid(Error):
    """Faults of a package, all of them at once; nothing was written."""

    def __init__(self, problems: Sequence[Problem]):
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class RequestInvalid(Error):
    """A request asks for what cannot be: says what was wanted and found."""


class KindUnknown(Error):
    """A kind, or a version of it, that the server does not serve.

    :param version: the one asked for; empty for any.
    :param served: the versions that the server has of this kind.
    :param where: the documents of the package that name the kind.
    :param also: more of the same sort, told in one go.
    """

    def __init__(
        self,
        group_kind: GroupKind,
        version: str = "",
        served: Sequence[str] = (),
        where: Sequence[str] = (),
        also: Sequence[KindUnknown] = (),
    ):
        self.group_kind = group_kind
        self.version = version
        self.served = tuple(served)
        self.where = tuple(where)
        self.also = tuple(also)
        super().__init__(group_kind, version)

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


class NamespaceAbsent(Error):
    """Objects for namespaces that neither the server nor the package has."""

    def __init__(self, absent: Mapping[str, Sequence[str]]):
        self.absent = {name: tuple(where) for name, where in absent.items()}
        super().__init__(*self.absent)

    def sentence(self) -> str:
        return "\n".join(
            f"{'; '.join(where)}: the namespace {name} is not there, and the "
            "package does not bring it"
            for name, where in sorted(self.absent.items())
        )


class Owned(Error):
    """Objects that belong to somebody else: by object, to whom."""

    def __init__(self, owners: Mapping[ObjectRef, str]):
        self.owners = dict(owners)
        super().__init__(*self.owners)

    def sentence(self) -> str:
        return "\n".join(
            f"{ref}: exists already and belongs to {owner}"
            for ref, owner in sorted(self.owners.items())
        )


class WouldBeLost(Error):
    """Objects of others that would go with ours: by object, with what."""

    def __init__(self, others: Mapping[ObjectRef, str]):
        self.others = dict(others)
        super().__init__(*self.others)

    def sentence(self) -> str:
        return "\n".join(
            f"{ref}: is not this instance's, and {why}"
            for ref, why in sorted(self.others.items())
        )


class NotScalable(Error):
    """An object whose number of replicas is not ours to set so."""

    def __init__(self, ref: ObjectRef, why: str):
        self.ref = ref
        self.why = why
        super().__init__(ref, why)

    def sentence(self) -> str:
        return f"{self.ref}: {self.why}"


# -- Instances ---------------------------------------------------------------


class InstanceUnknown(Error):
    """No record of an instance of that name."""

    def __init__(self, instance: str, namespace: str):
        self.instance = instance
        self.namespace = namespace
        super().__init__(instance, namespace)

    def sentence(self) -> str:
        return (
            f"no instance {self.instance} has its record in the namespace "
            f"{self.namespace}"
        )


class InstanceExists(Error):
    """An instance of that name is there already, in another state."""

    def __init__(self, instance: str, found: str):
        self.instance = instance
        self.found = found
        super().__init__(instance, found)

    def sentence(self) -> str:
        return f"the instance {self.instance} {self.found}"


class Busy(Error):
    """Somebody else carries out an operation on this instance."""

    def __init__(self, instance: str, holder: str):
        self.instance = instance
        self.holder = holder
        super().__init__(instance, holder)

    def sentence(self) -> str:
        return (
            f"another operation on the instance {self.instance} is running: "
            f"its lock is held by {self.holder}"
        )


class LockLost(Error):
    """Our lock on an instance went to somebody else in mid-operation."""

    def __init__(self, instance: str, why: str):
        self.instance = instance
        self.why = why
        super().__init__(instance, why)

    def sentence(self) -> str:
        return (
            f"the lock on the instance {self.instance} was lost ({self.why}); "
            "nothing more was sent"
        )


# -- What the server says ----------------------------------------------------


class ClusterError(Error):
    """The API server, or the way to it."""


class Unreachable(ClusterError):
    """No connection: nobody answers, or the certificate is not trusted."""

    def __init__(self, server: str, why: str):
        self.server = server
        self.why = why
        super().__init__(server, why)

    def sentence(self) -> str:
        return f"the API server {self.server} cannot be reached: {self.why}"


class Unauthenticated(ClusterError):
    """The server does not accept our credential (401)."""

    def __init__(self, server: str, why: str = ""):
        self.server = server
        self.why = why
        super().__init__(server, why)

    def sentence(self) -> str:
        detail = f": {self.why}" if self.why else ""
        return f"the API server {self.server} refuses the credential{detail}"


class Forbidden(ClusterError):
    """We may not do that (403 of the authorizer): the server's own words."""

    def __init__(self, verb: str, resource: str, namespace: str, message: str):
        self.verb = verb
        self.resource = resource
        self.namespace = namespace
        self.message = message
        super().__init__(verb, resource, namespace)

    def sentence(self) -> str:
        where = (
            f"in the namespace {self.namespace}"
            if self.namespace
            else "at the cluster scope"
        )
        return (
            f"forbidden to {self.verb} {self.resource} {where}: {self.message}"
        )


class Rejected(ClusterError):
    """The server, or an admission webhook, says no to what was sent."""

    def __init__(self, ref: ObjectRef, code: int, reason: str, message: str):
        self.ref = ref
        self.code = code
        self.reason = reason
        self.message = message
        super().__init__(ref, code, reason)

    def sentence(self) -> str:
        return f"{self.ref}: {self.message} ({self.code} {self.reason})"


class Refused(ClusterError):
    """Refusals of several objects, found before anything was written."""

    def __init__(self, refusals: Sequence[ClusterError]):
        self.refusals = tuple(refusals)
        super().__init__(*self.refusals)

    def sentence(self) -> str:
        return "\n".join(error.sentence() for error in self.refusals)


class Conflict(ClusterError):
    """Fields that another manager owns: by path, the managers."""

    def __init__(self, ref: ObjectRef, fields: Mapping[str, str]):
        self.ref = ref
        self.fields = dict(fields)
        super().__init__(ref, *self.fields)

    def sentence(self) -> str:
        owned = "; ".join(
            f"field {path} is owned by {manager}"
            for path, manager in sorted(self.fields.items())
        )
        return f"{self.ref}: {owned}"


class Outdated(ClusterError):
    """The object changed since we read it (409 on a resourceVersion)."""

    def __init__(self, ref: ObjectRef, message: str):
        self.ref = ref
        self.message = message
        super().__init__(ref, message)

    def sentence(self) -> str:
        return f"{self.ref}: {self.message}"


class NotYet(ClusterError):
    """Not possible before something else is there: kind, namespace, hook.

    It may mend while an operation goes on, so who applies tries again
    until the deadline.
    """

    def __init__(self, ref: ObjectRef, why: str):
        self.ref = ref
        self.why = why
        super().__init__(ref, why)

    def sentence(self) -> str:
        return f"{self.ref}: {self.why}"


class Unavailable(ClusterError):
    """The server kept answering that it cannot serve now (429, 5xx)."""

    def __init__(self, what: str, code: int, message: str):
        self.what = what
        self.code = code
        self.message = message
        super().__init__(what, code)

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


class _WithUnsettled(Error):
    start = "{}"

    def __init__(self, unsettled: Sequence[Unsettled], seconds: float):
        self.unsettled = tuple(unsettled)
        self.seconds = seconds
        super().__init__(*(item.ref for item in self.unsettled))

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


class KubeconfigInvalid(Error):
    """A kubeconfig that we cannot or may not use; never shows its values."""

    def __init__(self, where: str, why: str):
        self.where = where
        self.why = why
        super().__init__(where, why)

    def sentence(self) -> str:
        return f"{self.where}: {self.why}"


class NotDelivered(Error):
    """A receiver did not take what we posted.

    :param url: without user information and query.
    :param status: of the last answer; 0 when there was none.
    :param answer: first line of the last answer, or why there was none.
    """

    def __init__(self, url: str, status: int, answer: str):
        self.url = url
        self.status = status
        self.answer = answer
        super().__init__(url, status)

    def sentence(self) -> str:
        said = f"answered {self.status}: " if self.status else ""
        return f"{self.url}: {said}{self.answer}"


# -- Plug-ins ----------------------------------------------------------------


class PluginInvalid(Error):
    """A third party's handlers that cannot be used, by their entry point."""

    def __init__(self, name: str, why: str):
        self.name = name
        self.why = why
        super().__init__(name, why)

    def sentence(self) -> str:
        return f"handlers of the entry point {self.name}: {self.why}"
