"""What a handler is, and the registry that finds one for a kind."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import enum

from tacker_k8s_cr import objects
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import Path
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict

OBSERVED: Path = ("status", "observedGeneration")

BACKGROUND = "Background"
FOREGROUND = "Foreground"
"""How the server deletes what an object owns: after it, or before."""

Assess = Callable[[Manifest], Verdict]
"""How far one object is, from nothing but the object."""


class Rank(enum.IntEnum):
    """Where a kind stands in the order of apply; the lower goes first."""

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
    """All we know about a kind. A row of a table, not a class to inherit.

    :param assess: how far an object of this kind is.
    :param rank: where the kind stands in the order of apply.
    :param replicas: where the number of replicas is asked for, for a kind
        that has such a number.
    :param kept: a change of package keeps an object of this kind that the
        new package no longer names, unless pruning it is asked for by name.
    :param alone: at terminate an object of this kind goes by itself and
        must be gone before what it uses is touched.
    :param refuse_replicas: why a number of replicas would be refused, or
        None, from the object and the number.
    :param children: references of objects that one of this kind is known
        to have made or to use, whose words explain why it does not settle.
    :param made: where objects that one of this kind has made are found, as
        kinds with a label selector; owner references then say which.
    :param propagation: how the server should delete what the object owns;
        with ``Foreground`` the object is gone only after that is.
    :param fleeting: once current, an object of this kind may go by itself,
        and what was asked of it stays done.
    :param name: who wrote the handler, for errors in it; empty for ours.
    """

    assess: Assess
    rank: Rank = Rank.CUSTOM
    replicas: Path | None = None
    kept: bool = False
    alone: bool = False
    refuse_replicas: Callable[[Manifest, int], str | None] | None = None
    children: Callable[[Manifest], tuple[ObjectRef, ...]] | None = None
    made: Callable[[Manifest], tuple[tuple[GroupKind, str], ...]] | None = None
    propagation: str = BACKGROUND
    fleeting: bool = False
    name: str = ""


Resolver = Callable[[GroupKind], Handler | None]
"""A handler for every kind of a family, such as any control plane."""


Judge = Callable[[Handler], Handler]
"""A kind's handler with another judgement."""


@dataclasses.dataclass(frozen=True)
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

    def __getitem__(self, group_kind: GroupKind) -> Handler:
        """The kind's own handler, else its family's, else the fallback."""
        return self.known(group_kind) or self.fallback

    def known(self, group_kind: GroupKind) -> Handler | None:
        """The handler of a kind that somebody described, or None."""
        if found := self.handlers.get(group_kind):
            return found
        for family in self.families:
            if found := family(group_kind):
                return found
        return None

    def asked(self, ref: ObjectRef) -> Handler | None:
        """An object's handler, where somebody asked for another judgement.

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

    def extended(self, handlers: Mapping[GroupKind, Handler]) -> Registry:
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


def shared(obj: Manifest) -> Verdict | None:
    """What is true of any kind; None when only the kind itself can tell."""
    if objects.field(obj, ("metadata", "deletionTimestamp")):
        return Verdict(State.TERMINATING, _ending(obj))
    asked = objects.generation(obj)
    seen = reading.number(obj, OBSERVED)
    if seen is not None and seen < asked:
        return in_progress(f"generation {asked} asked, {seen} seen")
    return None


def observed(obj: Manifest) -> Verdict | None:
    """As ``shared``, for a kind whose controller always reports what it saw.

    Without that report nothing in the status speaks for what was asked:
    the API server itself fills some counters of a new object with zeros.
    """
    if verdict := shared(obj):
        return verdict
    if reading.number(obj, OBSERVED) is None:
        return in_progress("its controller has not reported a status yet")
    return None


def _ending(obj: Manifest) -> str:
    """Why an object that was asked to go is still there."""
    names = reading.texts(obj, ("metadata", "finalizers"))
    if not names:
        return "deletion requested"
    return f"deletion requested, held by {', '.join(names)}"


def stored(obj: Manifest) -> Verdict:
    """Current once the server has it: nothing works on such an object."""
    return shared(obj) or current("stored")
