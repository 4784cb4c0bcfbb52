"""What is in a cluster that was not there before.

The metadata of every listable resource is compared by UID. Events come and
go by themselves, and components renew Leases of their own: neither counts.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import time

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import Resource
from tacker_k8s_cr.recording import leases
from tacker_k8s_cr.recording import record

EVENTS = (GroupKind("", "Event"), GroupKind("events.k8s.io", "Event"))

PAUSE = 0.5
"""Seconds between two looks, while garbage is collected."""


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """Every object that can be listed, by its UID.

    :param unseen: kinds that could not be listed, and why.
    """

    objects: Mapping[str, ObjectRef]
    unseen: Mapping[GroupKind, str] = dataclasses.field(default_factory=dict)

    @property
    def kinds(self) -> int:
        return len({ref.group_kind for ref in self.objects.values()})


def snapshot(cluster: Cluster) -> Snapshot:
    """The metadata of every resource that can be listed, now."""
    found: dict[str, ObjectRef] = {}
    unseen = {}
    kinds = sorted({r.group_kind for r in cluster.resources() if _counts(r)})

    def listed(kind: GroupKind) -> list[tuple[str, ObjectRef]]:
        # Metadata has a kind of its own, so the resource's is put in.
        return [
            (
                objects.uid(obj),
                ObjectRef(
                    kind.group,
                    kind.kind,
                    obj["metadata"].get("namespace") or "",
                    obj["metadata"]["name"],
                ),
            )
            for obj in cluster.list_metadata(kind)
        ]

    for kind, outcome in cluster.each(listed, kinds):
        if isinstance(outcome, errors.Error):
            unseen[kind] = outcome.sentence()
        else:
            found.update(outcome)
    return Snapshot(found, unseen)


def _counts(resource: Resource) -> bool:
    # What is served under two groups is one object with one UID.
    return "list" in resource.verbs and resource.group_kind not in EVENTS


def left(before: Snapshot, after: Snapshot) -> list[ObjectRef]:
    """What is there after that was not there before."""
    return sorted(
        ref
        for uid, ref in after.objects.items()
        if uid not in before.objects and not _components(ref)
    )


def _components(ref: ObjectRef) -> bool:
    """Whether it is a Lease of a component; one of ours bears our name."""
    return ref.group_kind == leases.KIND and not ref.name.startswith(
        record.NAME
    )


def remaining(
    cluster: Cluster,
    before: Snapshot,
    deadline: Deadline,
    matters: Callable[[ObjectRef], bool] = lambda ref: True,
    sleep: Callable[[float], None] = time.sleep,
) -> list[ObjectRef]:
    """What is left when time is up; nothing as soon as nothing is.

    Garbage is collected some time after its owner is gone, so one look is
    not enough.
    """
    while True:
        found = [r for r in left(before, snapshot(cluster)) if matters(r)]
        if not found or deadline.passed:
            return found
        sleep(min(PAUSE, deadline.left))
