"""Record the changes of a container update script, in v1."""

from __future__ import annotations

from typing import Any

from tacker_k8s_cr.driver import packages
from tacker_k8s_cr.driver import schema
from tacker_k8s_cr.driver import script_changes
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.driver.v1 import lcm_op_occs
from tacker_k8s_cr.model.package import Package


def adopt(context: Any, vnf_instance: Any, target: InstanceTarget) -> bool:
    """Record what a script changed; return whether it changed anything."""

    def load() -> Package:
        info = vnf_instance.instantiated_vnf_info
        files = (info.additional_params or {}).get(schema.FILES, ())
        path = package_path(context, vnf_instance)
        return packages.reload(path, tuple(files), info.flavour_id)

    # Reading the instance may have begun a transaction.
    lcm_op_occs.release_connection(context)
    return script_changes.adopt(target, vnf_instance.vnfd_id, load)


def package_path(context: Any, vnf_instance: Any) -> str:
    """Return the folder of the package of an instance."""
    # Imported here: it imports Tacker's database.
    from tacker.vnflcm import utils

    path = utils.get_vnf_package_path(context, vnf_instance.vnfd_id)
    lcm_op_occs.release_connection(context)
    return str(path)
