"""Record the changes of a container update script, in v2."""

from __future__ import annotations

from typing import Any

from tacker_k8s_cr.driver import packages
from tacker_k8s_cr.driver import schema
from tacker_k8s_cr.driver import script_changes
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.model.package import Package


def adopt(inst: Any, target: InstanceTarget) -> bool:
    """Record what a script changed; return whether it changed anything."""

    def load() -> Package:
        info = inst.instantiatedVnfInfo
        files = tuple(info.metadata.get(schema.FILES, ()))
        return packages.reload(package_path(inst), files, info.flavourId)

    return script_changes.adopt(target, inst.vnfdId, load)


def package_path(inst: Any) -> str:
    """Return the folder of the package of an instance."""
    from tacker import context
    from tacker.sol_refactored.nfvo import nfvo_client

    vnfd = nfvo_client.NfvoClient().get_vnfd(
        context.get_admin_context(), inst.vnfdId, all_contents=True
    )
    return str(vnfd.csar_dir)
