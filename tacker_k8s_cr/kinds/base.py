"""What a handler is, and the registry that finds one for a kind."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import enum

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict

OBSERVED: Path = ("status", "observedGeneration")

BACKGROUND = "Background"
FOREGROUND = "Foreground"
"""How the server deletes what an object owns: after it, or before."""

Assess = Callable[[Manifest], Verdict]
"""How far one object is, from nothing but the object."""


class ApplyOrder(enum.IntEnum):
    """The position of a kind in the order of apply; lower is applied first."""

    NAMESPACE = 0
    DEFINITION = 1
    POLICY = 2
    CONFIG = 3
    ACCESS = 4
    BINDING = 5
    SERVICE = 6
    WORKLOAD = 7
    SCALING = 8
    HOOK = 9
    TEMPLATE = 10
    CUSTOM = 11
    CLUSTER = 12


@dataclasses.dataclass(frozen=True)
class Handler:
    """The behaviour of a kind: a row of a table, not a class to inherit.

    :param assess: returns the state of an object of this kind.
    :param rank: the position of the kind in the order of apply.
    :param replicas: the path of the replica count, for a kind that has one.
    :param prune_protected: a change of package retains an object of this kind
        that the new package does not contain, unless its pruning is requested
        by name.
    :param delete_exclusively: terminate deletes an object of this kind alone,
        before its dependencies.
    :param refuse_replicas: returns why a replica count would be refused, or
        None, from the object and the count.
    :param references: returns objects that an object of this kind uses or
        created, whose state explains why it does not settle.
    :param child_selectors: returns kinds with label selectors of objects that
        an object of this kind creates; owner references identify them.
    :param propagation: how the server should delete the dependents; with
        ``Foreground`` the object is deleted after its dependents.
    :param ephemeral: once current, an object of this kind may be deleted by
        its controller, and counts as complete.
    :param time_to_live: returns the seconds after which the controller of an
        object deletes it when it has ended; None if it does not.
    :param stall_timeout: seconds after which an object of this kind that
        shows the same error without progress counts as blocked; None for the
        limit of the operation. The annotation of an object overrides it.
    :param name: the author of the handler, for its errors; empty if built in.
    """

    assess: Assess
    rank: ApplyOrder = ApplyOrder.CUSTOM
    replicas: Path | None = None
    prune_protected: bool = False
    delete_exclusively: bool = False
    refuse_replicas: Callable[[Manifest, int], str | None] | None = None
    references: Callable[[Manifest], tuple[ObjectRef, ...]] | None = None
    child_selectors: (
        Callable[[Manifest], tuple[tuple[GroupKind, str], ...]] | None
    ) = None
    propagation: str = BACKGROUND
    ephemeral: bool = False
    name: str = ""
    time_to_live: Callable[[Manifest], float | None] | None = None
    stall_timeout: float | None = None


Resolver = Callable[[GroupKind], Handler | None]
"""A handler for every kind of a family, such as any control plane."""


Judge = Callable[[Handler], Handler]
"""A kind's handler with another judgement."""


@dataclasses.dataclass(frozen=True, repr=False)
class Registry:
    """Handlers by kind. A value: adding to it makes another one.

    :param judges: what a request wants objects to be judged by.
    """

    handlers: Mapping[GroupKind, Handler]
    fallback: Handler
    families: tuple[Resolver, ...] = ()
    judges: Mapping[GroupKind | ObjectRef, Judge] = dataclasses.field(
        default_factory=dict
    )

    def __repr__(self) -> str:
        """Return a short text: it is the default of a parameter."""
        return f"<{type(self).__name__} of {len(self.handlers)} kinds>"

    def __getitem__(self, group_kind: GroupKind) -> Handler:
        """The kind's own handler, else its family's, else the fallback."""
        return self.find(group_kind) or self.fallback

    def find(self, group_kind: GroupKind) -> Handler | None:
        """Return the handler that is registered for a kind, or None."""
        if found := self.handlers.get(group_kind):
            return found
        for family in self.families:
            if found := family(group_kind):
                return found
        return None

    def override_for(self, ref: ObjectRef) -> Handler | None:
        """Return the handler of an object whose judgement is overridden.

        For one object rather than for its kind; an object without a
        namespace stands for those of its name in any.
        """
        if not self.judges:
            return None
        anywhere = ref._replace(namespace="")
        for subject in (ref, anywhere, ref.group_kind):
            if judge := self.judges.get(subject):
                return judge(self[ref.group_kind])
        return None

    def handler_for(self, ref: ObjectRef) -> Handler:
        """Return the handler of an object, as a request overrides it."""
        return self.override_for(ref) or self[ref.group_kind]

    def with_handlers(self, handlers: Mapping[GroupKind, Handler]) -> Registry:
        """With more handlers, which win over those that are here."""
        return dataclasses.replace(
            self, handlers={**self.handlers, **handlers}
        )


def current(reason: str) -> Verdict:
    return Verdict(State.CURRENT, reason)


def in_progress(reason: str, error: str = "") -> Verdict:
    return Verdict(State.IN_PROGRESS, reason, error)


def failed(reason: str) -> Verdict:
    return Verdict(State.FAILED, reason)


def common_verdict(obj: Manifest) -> Verdict | None:
    """What is true of any kind; None when only the kind itself can tell."""
    if objects.field(obj, ("metadata", "deletionTimestamp")):
        return Verdict(State.TERMINATING, _deletion_reason(obj))
    generation = objects.generation(obj)
    observed = fields.number(obj, OBSERVED)
    if observed is not None and observed < generation:
        return in_progress(f"generation {generation} asked, {observed} seen")
    return None


def observed_verdict(obj: Manifest) -> Verdict | None:
    """As ``shared``, for a kind whose controller always reports what it saw.

    Without that report nothing in the status speaks for what was asked:
    the API server itself fills some counters of a new object with zeros.
    """
    if verdict := common_verdict(obj):
        return verdict
    if fields.number(obj, OBSERVED) is None:
        return in_progress("its controller has not reported a status yet")
    return None


def _deletion_reason(obj: Manifest) -> str:
    """Return why an object with a deletionTimestamp still exists."""
    names = fields.texts(obj, ("metadata", "finalizers"))
    if not names:
        return "deletion requested"
    return f"deletion requested, held by {', '.join(names)}"


def stored(obj: Manifest) -> Verdict:
    """Current once the server has it: nothing works on such an object."""
    return common_verdict(obj) or current("stored")
