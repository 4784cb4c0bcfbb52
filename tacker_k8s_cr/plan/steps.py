"""What a plan consists of: steps, in stages."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.plan.unchanged import Unchanged


@dataclasses.dataclass(frozen=True)
class Apply:
    """Apply a manifest; with a UID only to the object that has it.

    :param resource_version: the object's resourceVersion before.
    :param terminating: the deletion of an existing object of that name has
        been requested.
    :param after: objects that have to be current before.
    :param replicas_path: path of a replica count that is sent as last read.
    :param unchanged: set if the apply need not be sent.
    """

    ref: ObjectRef
    manifest: Manifest
    rank: ApplyOrder
    uid: str = ""
    resource_version: str = ""
    terminating: bool = False
    after: frozenset[ObjectRef] = frozenset()
    replicas_path: Path = ()
    unchanged: Unchanged | None = None


@dataclasses.dataclass(frozen=True)
class LiveObject:
    """An existing object of this instance.

    :param replicas_path: path of a replica count that must not change.
    :param unchanged: set if its manifest need not be sent.
    """

    uid: str
    resource_version: str = ""
    replicas_path: Path = ()
    unchanged: Unchanged | None = None


@dataclasses.dataclass(frozen=True)
class Delete:
    """Delete the object with this UID."""

    ref: ObjectRef
    uid: str
    propagation: str = "Background"


@dataclasses.dataclass(frozen=True)
class Submit:
    """Create an object that the server answers and does not store.

    :param where: the location of its manifest, since it may have no name.
    """

    ref: ObjectRef
    manifest: Manifest
    where: str


Step = Apply | Delete | Submit


@dataclasses.dataclass(frozen=True)
class Stage:
    """Steps between two entries of the journal.

    :param barrier: what was applied must be current before the next stage. A
        stage that deletes always ends when all its objects are deleted.
    """

    name: str
    steps: tuple[Step, ...]
    barrier: bool = False

    @property
    def refs(self) -> tuple[ObjectRef, ...]:
        return tuple(step.ref for step in self.steps)

    def without(self, refs: Collection[ObjectRef]) -> Stage:
        """The stage without the steps that delete these."""
        steps = tuple(
            step
            for step in self.steps
            if not (isinstance(step, Delete) and step.ref in refs)
        )
        return dataclasses.replace(self, steps=steps)


@dataclasses.dataclass(frozen=True)
class Plan:
    """Stages, in order, and what the change deliberately leaves unchanged.

    :param retained: objects that the new package no longer contains and that
        are retained, with the reason.
    """

    stages: tuple[Stage, ...]
    retained: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)

    def without(self, refs: Collection[ObjectRef]) -> Plan:
        """The plan without the steps on these objects."""
        stages = (
            dataclasses.replace(
                stage,
                steps=tuple(s for s in stage.steps if s.ref not in refs),
            )
            for stage in self.stages
        )
        return Plan(tuple(s for s in stages if s.steps), self.retained)
