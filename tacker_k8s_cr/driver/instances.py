"""Read an instance, without changing anything."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
from typing import Any

from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver import log_context
from tacker_k8s_cr.driver import vim
from tacker_k8s_cr.driver.additional_params import RequestParams
from tacker_k8s_cr.driver.configuration import Settings
from tacker_k8s_cr.engine import replicas
from tacker_k8s_cr.kinds import plugins
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.lcm.healing import members as found_members
from tacker_k8s_cr.lcm.healing.members import Member
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.state import leases
from tacker_k8s_cr.state import other_instances
from tacker_k8s_cr.state import store

READ_SECONDS = 60.0
"""For calls that only read an instance."""


@dataclasses.dataclass(frozen=True)
class InstanceTarget:
    """An instance, and the cluster that it is on.

    :param record_namespace: the namespace of its record.
    :param access: the access information of its VIM, with v1's keys.
    :param occurrence: Tacker's id of the operation: for the log, and to
        recognize an operation that is repeated.
    :param namespace: its own; empty if only its record has it.
    """

    instance: str
    record_namespace: str
    access: Mapping[str, Any] = dataclasses.field(repr=False)
    occurrence: str = ""
    namespace: str = ""


def choose_record_namespace(
    params: RequestParams, settings: Settings | None = None
) -> str:
    """Return the namespace for the record of a new instance."""
    configured = (settings or configuration.settings()).record_namespace
    return params.record_namespace or configured or params.namespace


@contextlib.contextmanager
def open_cluster(
    target: InstanceTarget, settings: Settings
) -> Iterator[Cluster]:
    with (
        log_context.log_ids(target.instance, target.occurrence),
        vim.connect(target.access, settings) as cluster,
    ):
        yield cluster


def read_inventory(cluster: Cluster, target: InstanceTarget) -> Inventory:
    """Return its inventory. Raises InstanceNotFound without a record."""
    entry = store.read(cluster, target.instance, target.record_namespace)
    if entry is None:
        raise errors.InstanceNotFound(target.instance, target.record_namespace)
    return entry.inventory


def read_members(
    target: InstanceTarget,
) -> tuple[Inventory, dict[str, tuple[Member, ...]]]:
    """Return the inventory, and the live Pods and Machines of each VDU.

    Raises InstanceNotFound for an instance without a record.
    """
    with open_cluster(target, configuration.settings()) as cluster:
        brief = cluster.with_deadline(Deadline.after(READ_SECONDS))
        inventory = read_inventory(brief, target)
        by_vdu = found_members.by_vdu(brief, plugins.registry(), inventory)
    return inventory, by_vdu


@dataclasses.dataclass(frozen=True)
class InstanceView:
    """The live state of an instance.

    :param numbers: by VDU, the replica count of its object; None if it has
        none or does not exist.
    :param holder: of the lock of a running operation; empty without one.
    """

    inventory: Inventory
    members: Mapping[str, tuple[Member, ...]]
    numbers: Mapping[str, int | None]
    holder: str


def inspect(
    target: InstanceTarget, seconds: float = READ_SECONDS
) -> InstanceView:
    """Read an instance. Raises InstanceNotFound without a record."""
    registry = plugins.registry()
    with open_cluster(target, configuration.settings()) as cluster:
        brief = cluster.with_deadline(Deadline.after(seconds))
        inventory = read_inventory(brief, target)
        lease = brief.get(leases.ref(target.instance, target.record_namespace))
        return InstanceView(
            inventory,
            found_members.by_vdu(brief, registry, inventory),
            replicas.live_replicas(brief, registry, inventory),
            leases.holder(lease) if lease else "",
        )


def find_inventory(
    target: InstanceTarget, seconds: float = READ_SECONDS
) -> Inventory | None:
    """Return the inventory, or None without a record."""
    with open_cluster(target, configuration.settings()) as cluster:
        brief = cluster.with_deadline(Deadline.after(seconds))
        entry = store.read(brief, target.instance, target.record_namespace)
    return entry.inventory if entry else None


def needs_scale_rollback(
    inventory: Inventory | None, aspect: str, before: int
) -> bool:
    """Return whether a scale must be rolled back.

    :param inventory: the inventory; at rest and at the level before, if the
        scale was rejected.
    """
    if inventory is None:
        return False
    at_rest = inventory.phase is Phase.INSTANTIATED
    return not (at_rest and inventory.scale_levels.get(aspect, 0) == before)


def locate_record(
    target: InstanceTarget, seconds: float = READ_SECONDS
) -> InstanceTarget:
    """Return the target with the namespace in which its record is found.

    For an instance that Tacker has no reference of: the configuration may
    have had another namespace for records when it was instantiated. The
    target is unchanged if none is found, or reading is forbidden.
    """
    with open_cluster(target, configuration.settings()) as cluster:
        brief = cluster.with_deadline(Deadline.after(seconds))

        def has_record(namespace: str) -> bool:
            # One of another namespace is of an abandoned attempt.
            entry = store.read(brief, target.instance, namespace)
            expected = target.namespace
            return entry is not None and expected in (
                "",
                entry.inventory.namespace,
            )

        for namespace in filter(
            None, (target.record_namespace, target.namespace)
        ):
            with contextlib.suppress(errors.Forbidden):
                if has_record(namespace):
                    return dataclasses.replace(
                        target, record_namespace=namespace
                    )
        for namespace in other_instances.record_namespaces(
            brief, target.instance
        ):
            if has_record(namespace):
                return dataclasses.replace(target, record_namespace=namespace)
    return target
