"""Instances of Tacker's own driver, found and adopted outside the conductor.

The command ``adopt`` runs in the environment of tacker-conductor, which may be
up: instances are locked as Tacker's own services lock them.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
from typing import Any

from oslo_config import cfg
from tacker import context as contexts
from tacker import objects as objects_v1
from tacker.common import coordination
from tacker.db import api
from tacker.sol_refactored import objects as objects_v2
from tacker.sol_refactored.common import coordinate
from tacker.sol_refactored.common import exceptions
from tacker.sol_refactored.common import lcm_op_occ_utils
from tacker.sol_refactored.common import vnf_instance_utils
from tacker.vnflcm import utils

from tacker_k8s_cr.driver.v1 import adoption as adoption_v1
from tacker_k8s_cr.driver.v2 import adoption as adoption_v2
from tacker_k8s_cr.model import errors

_INSTANTIATED = "INSTANTIATED"


@dataclasses.dataclass(frozen=True)
class Adoptable:
    """An instance of Tacker's own driver.

    :param api: v1 or v2.
    """

    id: str
    name: str
    api: str


def prepare() -> None:
    """Make Tacker's database, VIMs and locks usable in this process."""
    # Only what VIMs need: the other plug-in loads the drivers.
    cfg.CONF.set_override("service_plugins", ["nfvo"])
    import tacker.nfvo.nfvo_plugin  # noqa: F401  it registers options

    # The first session has to be one of v1: it configures what v2 starts.
    api.get_session().close()
    objects_v1.register_all()
    objects_v2.register_all()
    coordination.COORDINATOR.start()


def list_adoptable() -> Iterator[Adoptable]:
    """Return all instances that can be adopted, of both APIs."""
    context = contexts.get_admin_context()
    for inst in objects_v2.VnfInstanceV2.get_by_filter(
        context, instantiationState=_INSTANTIATED
    ):
        if _is_kubernetes(inst) and adoption_v2.is_possible(inst):
            name = inst.get("vnfInstanceName", None) or ""
            yield Adoptable(inst.id, name, "v2")
    filters = {
        "model": "VnfInstance",
        "field": "instantiation_state",
        "value": _INSTANTIATED,
        "op": "==",
    }
    instances = objects_v1.VnfInstanceList.get_by_filters(context, filters)
    for vnf_instance in instances:
        kinds = {vim.vim_type for vim in vnf_instance.vim_connection_info}
        if "kubernetes" in kinds and adoption_v1.is_possible(vnf_instance):
            yield Adoptable(
                vnf_instance.id, vnf_instance.vnf_instance_name or "", "v1"
            )


def adopt(instance: Adoptable) -> None:
    """Adopt one instance.

    Raises errors.Error; the instance then stays with Tacker's own driver.
    """
    if instance.api == "v1":
        _adopt_v1(instance.id)
        return
    try:
        _adopt_v2(instance.id)
    except exceptions.SolException as error:
        raise errors.RequestInvalid(
            f"{instance.id}: {error.detail}"
        ) from error


def _adopt_v1(id_: str) -> None:
    context = contexts.get_admin_context()
    vnf_instance = objects_v1.VnfInstance.get_by_id(context, id_)
    vim = utils.get_vim(context, vnf_instance.vim_connection_info)
    vim_info = objects_v1.VimConnectionInfo.obj_from_primitive(vim, context)
    adoption_v1.adopt(context, vnf_instance, vim_info)


@coordinate.lock_vnf_instance("{id_}")  # type: ignore[untyped-decorator]
def _adopt_v2(id_: str) -> None:
    context = contexts.get_admin_context()
    if lcm_op_occ_utils.is_lcmocc_failure_status(context, id_):
        raise errors.RequestInvalid(
            f"{id_}: an operation failed; retry it, roll it back or fail it "
            "first"
        )
    inst = vnf_instance_utils.get_inst(context, id_)
    vim_info = vnf_instance_utils.select_vim_info(inst.vimConnectionInfo)
    adoption_v2.adopt(inst, vim_info)
    inst.update(context)


def _is_kubernetes(inst: Any) -> bool:
    vim_info = vnf_instance_utils.select_vim_info(inst.vimConnectionInfo)
    return bool(vim_info.vimType == "ETSINFV.KUBERNETES.V_1")
