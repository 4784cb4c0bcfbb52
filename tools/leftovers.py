"""What a cluster contains that did not exist before.

The metadata of every listable resource is compared by UID. Events appear and
expire on their own, and components renew their own Leases: neither counts.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import time

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Resource
from tacker_k8s_cr.state import leases

EVENTS = (GroupKind("", "Event"), GroupKind("events.k8s.io", "Event"))

PAUSE = 0.5
"""Seconds between two looks, while garbage is collected."""


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """Every object that can be listed, by its UID.

    :param unlisted: kinds that could not be listed, and why.
    """

    objects: Mapping[str, ObjectRef]
    unlisted: Mapping[GroupKind, str] = dataclasses.field(default_factory=dict)

    @property
    def kinds(self) -> int:
        return len({ref.group_kind for ref in self.objects.values()})


def take_snapshot(cluster: Cluster) -> Snapshot:
    """The metadata of every resource that can be listed, now."""
    found: dict[str, ObjectRef] = {}
    unseen = {}
    kinds = sorted(
        {r.group_kind for r in cluster.resources() if _is_compared(r)}
    )

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

    for kind, outcome in cluster.map_parallel(listed, kinds):
        if isinstance(outcome, errors.Error):
            unseen[kind] = outcome.sentence()
        else:
            found.update(outcome)
    return Snapshot(found, unseen)


def _is_compared(resource: Resource) -> bool:
    # What is served under two groups is one object with one UID.
    return "list" in resource.verbs and resource.group_kind not in EVENTS


def find_new(before: Snapshot, after: Snapshot) -> list[ObjectRef]:
    """Return what exists after and did not exist before."""
    return sorted(
        ref
        for uid, ref in after.objects.items()
        if uid not in before.objects and not _is_component_lease(ref)
    )


def _is_component_lease(ref: ObjectRef) -> bool:
    """Whether it is a Lease of a component, and not one of an instance."""
    return ref.group_kind == leases.KIND and not ref.name.startswith(
        record_names.PREFIX
    )


def find_leftovers(
    cluster: Cluster,
    before: Snapshot,
    deadline: Deadline,
    matters: Callable[[ObjectRef], bool] = lambda ref: True,
    sleep: Callable[[float], None] = time.sleep,
) -> list[ObjectRef]:
    """What is left after the deadline; nothing as soon as nothing is left.

    Garbage is collected some time after its owner was deleted, so one listing
    is not enough.
    """
    while True:
        found = [
            r for r in find_new(before, take_snapshot(cluster)) if matters(r)
        ]
        if not found or deadline.expired:
            return found
        sleep(min(PAUSE, deadline.remaining))
