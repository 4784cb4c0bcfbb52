"""Changes that a container update script of the package made by itself.

Tacker modifies an instance without the infrastructure driver: the instance
has another descriptor afterwards, and a script of the package has changed
objects in the cluster. Whether that happened shows by the descriptor, which
is not the one in the record any more.
"""

from __future__ import annotations

from collections.abc import Callable
import logging
from typing import Any

from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import occurrences
from tacker_k8s_cr.driver import operations
from tacker_k8s_cr.driver import request
from tacker_k8s_cr.driver.instances import Target
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.package.model import Package

LOG = logging.getLogger(__name__)


def adopt_v1(context: Any, vnf_instance: Any, target: Target) -> bool:
    """Take in what a script did to an instance of the v1 API.

    :returns: whether there was anything to take in.
    """

    def load() -> Package:
        # Imported here: it brings in Tacker's database.
        from tacker.vnflcm import utils

        info = vnf_instance.instantiated_vnf_info
        files = tuple((info.additional_params or {}).get(request.FILES, ()))
        path = utils.get_vnf_package_path(context, vnf_instance.vnfd_id)
        occurrences.let_go(context)
        return operations.loaded_again(path, files, info.flavour_id)

    # Reading the instance may have begun a transaction.
    occurrences.let_go(context)
    return _adopt(target, vnf_instance.vnfd_id, load)


def adopt_v2(inst: Any, target: Target) -> bool:
    """Take in what a script did to an instance of the v2 API.

    :returns: whether there was anything to take in.
    """

    def load() -> Package:
        info = inst.instantiatedVnfInfo
        files = tuple(info.metadata.get(request.FILES, ()))
        path = package_path(inst)
        return operations.loaded_again(path, files, info.flavourId)

    return _adopt(target, inst.vnfdId, load)


def package_path(inst: Any) -> str:
    """The folder of the package that an instance of the v2 API is of."""
    from tacker import context
    from tacker.sol_refactored.nfvo import nfvo_client

    vnfd = nfvo_client.NfvoClient().get_vnfd(
        context.get_admin_context(), inst.vnfdId, all_contents=True
    )
    return str(vnfd.csar_dir)


def has_other_descriptor(found: Inventory | None, vnfd_id: str) -> bool:
    """Whether an instance at rest is of another descriptor than its record.

    It is not a modification if the record has changed from this descriptor:
    Tacker has not stored that change, since a script failed at its end.
    """
    if not (found and found.phase is Phase.INSTANTIATED and found.vnfd):
        return False
    former = found.before and found.before.vnfd
    changed = bool(former and former.id == vnfd_id)
    return found.vnfd.id not in ("", vnfd_id) and not changed


def _adopt(target: Target, vnfd_id: str, load: Callable[[], Package]) -> bool:
    if not has_other_descriptor(instances.inventory(target), vnfd_id):
        return False
    LOG.info("the descriptor was modified to %s", vnfd_id)
    operations.adopt_changes(target, load())
    return True
