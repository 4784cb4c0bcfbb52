"""One instance: where it is, and how it is, without changing anything."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr import plugins
from tacker_k8s_cr.applying import replicas
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.driver import conf
from tacker_k8s_cr.driver import lines
from tacker_k8s_cr.driver import vim
from tacker_k8s_cr.driver.conf import Settings
from tacker_k8s_cr.driver.request import Asked
from tacker_k8s_cr.healing import members as found_members
from tacker_k8s_cr.healing.members import Member
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.recording import leases
from tacker_k8s_cr.recording import neighbours
from tacker_k8s_cr.recording import record

READ_SECONDS = 60.0
"""For the calls that only look at what an instance has."""


@dataclasses.dataclass(frozen=True)
class Target:
    """An instance, and the cluster that it is on.

    :param home: the namespace of its record.
    :param access: the access information of its VIM, with v1's keys.
    :param occurrence: Tacker's id of the operation: for the log, and to
        know one that is tried again from another of the same sort.
    :param namespace: its own; empty where only its record says.
    """

    instance: str
    home: str
    access: Mapping[str, Any] = dataclasses.field(repr=False)
    occurrence: str = ""
    namespace: str = ""


def home(asked: Asked, settings: Settings | None = None) -> str:
    """Where the record of a new instance is to lie."""
    usual = (settings or conf.settings()).record_namespace
    return asked.record_namespace or usual or asked.namespace


@contextlib.contextmanager
def opened(target: Target, settings: Settings) -> Iterator[Cluster]:
    with (
        lines.about(target.instance, target.occurrence),
        vim.opened(target.access, settings) as cluster,
    ):
        yield cluster


def recorded(cluster: Cluster, target: Target) -> Inventory:
    """What its record says. Raises InstanceUnknown if it has none."""
    entry = record.read(cluster, target.instance, target.home)
    if entry is None:
        raise errors.InstanceUnknown(target.instance, target.home)
    return entry.inventory


def members(
    target: Target,
) -> tuple[Inventory, dict[str, tuple[Member, ...]]]:
    """What the record says, and each VDU's Pods and Machines as they are.

    Raises InstanceUnknown for an instance without a record.
    """
    with opened(target, conf.settings()) as cluster:
        brief = cluster.until(Deadline.after(READ_SECONDS))
        inventory = recorded(brief, target)
        found = found_members.by_vdu(brief, plugins.registry(), inventory)
    return inventory, found


@dataclasses.dataclass(frozen=True)
class Seen:
    """An instance as it is, without changing anything.

    :param numbers: by VDU, the number that its object asks for; None where
        it has none or is gone.
    :param holder: who has an operation under way; empty if nobody has.
    """

    inventory: Inventory
    members: Mapping[str, tuple[Member, ...]]
    numbers: Mapping[str, int | None]
    holder: str


def seen(target: Target, seconds: float = READ_SECONDS) -> Seen:
    """Look at an instance. Raises InstanceUnknown if it has no record."""
    registry = plugins.registry()
    with opened(target, conf.settings()) as cluster:
        brief = cluster.until(Deadline.after(seconds))
        inventory = recorded(brief, target)
        lease = brief.get(leases.ref(target.instance, target.home))
        return Seen(
            inventory,
            found_members.by_vdu(brief, registry, inventory),
            replicas.found(brief, registry, inventory),
            leases.holder(lease) if lease else "",
        )


def inventory(
    target: Target, seconds: float = READ_SECONDS
) -> Inventory | None:
    """What the record says; None where there is none."""
    with opened(target, conf.settings()) as cluster:
        brief = cluster.until(Deadline.after(seconds))
        entry = record.read(brief, target.instance, target.home)
    return entry.inventory if entry else None


def scale_begun(found: Inventory | None, aspect: str, before: int) -> bool:
    """Whether a scale is to be taken back.

    :param found: the record. It is at rest, at the level before, where the
        scale was refused.
    """
    if found is None:
        return False
    at_rest = found.phase is Phase.INSTANTIATED
    return not (at_rest and found.scale_levels.get(aspect, 0) == before)


def located(target: Target, seconds: float = READ_SECONDS) -> Target:
    """The target with the home where a record of it is found.

    For what Tacker has not noted: the configuration may have had another
    namespace for records when the instance was begun. As it is where none
    is found, or we may not look.
    """
    with opened(target, conf.settings()) as cluster:
        brief = cluster.until(Deadline.after(seconds))

        def here(place: str) -> bool:
            # One of another namespace is of a try that was given up.
            entry = record.read(brief, target.instance, place)
            wanted = target.namespace
            return entry is not None and wanted in (
                "",
                entry.inventory.namespace,
            )

        for place in filter(None, (target.home, target.namespace)):
            with contextlib.suppress(errors.Forbidden):
                if here(place):
                    return dataclasses.replace(target, home=place)
        for place in neighbours.homes(brief, target.instance):
            if here(place):
                return dataclasses.replace(target, home=place)
    return target


def described(member: Member) -> dict[str, str]:
    """What there is to say on a member beside its id."""
    known = {
        "kind": member.ref.kind,
        "namespace": member.ref.namespace,
        "uid": member.uid,
        "owner": member.owner.name,
        "node": member.node,
    }
    return {key: value for key, value in known.items() if value}
