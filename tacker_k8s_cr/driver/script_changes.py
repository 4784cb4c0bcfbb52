"""Record the changes of a container update script of the package.

Tacker modifies an instance without the infrastructure driver: afterwards the
instance has another descriptor than its record, and a script of the package
has changed objects in the cluster.
"""

from __future__ import annotations

from collections.abc import Callable
import logging

from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import operations
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase

LOG = logging.getLogger(__name__)


def adopt(
    target: InstanceTarget, vnfd_id: str, load: Callable[[], Package]
) -> bool:
    """Record the changes, if the instance has another descriptor.

    :param vnfd_id: the descriptor in Tacker's database.
    :param load: reads the package of that descriptor.
    :returns: whether there was a change.
    """
    if not has_other_descriptor(instances.find_inventory(target), vnfd_id):
        return False
    LOG.info("the descriptor was modified to %s", vnfd_id)
    operations.adopt_changes(target, load())
    return True


def has_other_descriptor(inventory: Inventory | None, vnfd_id: str) -> bool:
    """Return whether an instance at rest has another descriptor.

    It is not a modification if the record has changed from this descriptor:
    Tacker has not stored that change, since a script failed at its end.
    """
    if not (
        inventory and inventory.phase is Phase.INSTANTIATED and inventory.vnfd
    ):
        return False
    previous = inventory.previous_package and inventory.previous_package.vnfd
    changed = bool(previous and previous.id == vnfd_id)
    return inventory.vnfd.id not in ("", vnfd_id) and not changed
