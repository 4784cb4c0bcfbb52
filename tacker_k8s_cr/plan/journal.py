"""What an inventory records about the operations of its instance."""

from __future__ import annotations

import dataclasses
import enum

from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef


class Phase(enum.Enum):
    """The phase of an instance: idle, or an operation that is incomplete."""

    INSTANTIATING = "instantiating"
    INSTANTIATED = "instantiated"
    SCALING = "scaling"
    CHANGING = "changing"
    HEALING = "healing"
    TERMINATING = "terminating"


@dataclasses.dataclass(frozen=True)
class Journal:
    """What the running operation is about to do, recorded before it does it.

    :param pending: objects that the stage may create. After a crash only
        these may exist without being recorded as owned.
    :param error: why the operation ended early; empty while it runs, and
        after one that was killed.
    """

    operation: str = ""
    stage: str = ""
    pending: tuple[ObjectRef, ...] = ()
    error: str = ""


@dataclasses.dataclass(frozen=True)
class MemberRef:
    """A Pod or Machine that a heal replaces.

    :param owner: the object of the instance that it belongs to; itself if the
        instance owns it directly.
    """

    ref: ObjectRef
    uid: str
    owner: ObjectRef


@dataclasses.dataclass(frozen=True)
class Healing:
    """What the running or the last heal was to replace.

    :param all_members: every member of the instance was to be replaced.
    :param operation: the caller's name for the heal, to recognize a retry.
    """

    all_members: bool = False
    members: tuple[MemberRef, ...] = ()
    operation: str = ""


@dataclasses.dataclass(frozen=True)
class Transfer:
    """An object that a source instance transfers to this one.

    :param source: the source instance.
    :param record_namespace: the namespace of its record.
    :param preexisting: the source had not created the object either.
    :param manifest: last applied by the source; None if not recorded.
    """

    uid: str
    source: str
    record_namespace: str
    preexisting: bool = False
    manifest: Manifest | None = None
