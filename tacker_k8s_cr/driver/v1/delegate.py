"""Delegate instances of Tacker's own Kubernetes driver to it, in v1.

Tacker has one driver for each type of VIM. Tacker's record of an instance
shows which driver manages it; a call for one of Tacker's own driver is passed
to that class, with the arguments of Tacker.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import functools
import importlib
from typing import Any, TypeVar

from tacker import objects
from tacker.objects import fields

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver.v1 import mapping

MODULE = "tacker.vnfm.infra_drivers.kubernetes.kubernetes_driver"

Call = Mapping[str, Any]
"""The arguments of a call, by name."""

Driver = TypeVar("Driver", bound=type)


# -- Select the driver --------------------------------------------------------


def by_request(call: Call) -> bool:
    """Decide by the request: for an instantiation, also in a heal."""
    params = call["instantiate_vnf_req"].additional_params
    return additional_params.is_for_helm(params) or by_instance(call)


def by_instance(call: Call) -> bool:
    """Decide by the reference of the instance, or earlier operations."""
    vnf_instance = call["vnf_instance"]
    info = vnf_instance.instantiated_vnf_info
    if info and info.instance_id:
        return not mapping.is_our_reference(info.instance_id)
    if info and additional_params.is_for_helm(info.additional_params):
        return True
    if mapping.noted_reference(vnf_instance):
        return False
    # An instance of this driver has a noted reference. Others are new, or
    # an instantiation or heal of the other driver ended early.
    healed = vnf_instance.instantiation_state
    return healed == fields.VnfInstanceState.INSTANTIATED or bool(
        objects.VnfResourceList.get_by_vnf_instance_id(
            call["context"], vnf_instance.id
        ).objects
    )


def by_synchronization(call: Call) -> bool:
    """Decide by the instance, unless the configuration adopts it."""
    # Imported here: it imports modules that import this one.
    from tacker_k8s_cr.driver.v1 import adoption

    return by_instance(call) and not adoption.is_wanted(call["vnf_instance"])


def _by(*path: str) -> Callable[[Call], bool]:
    """Decide by a reference in the arguments; a new instance has none."""

    def theirs(call: Call) -> bool:
        value: Any = call
        for key in path:
            value = value.get(key)
        return bool(value) and not mapping.is_our_reference(value)

    return theirs


CALLS: Mapping[str, Callable[[Call], bool]] = {
    "pre_instantiation_vnf": by_request,
    "instantiate_vnf": by_request,
    "create_wait": _by("vnf_id"),
    "post_vnf_instantiation": by_instance,
    "delete": by_instance,
    "delete_wait": by_instance,
    "delete_vnf_instance_resource": by_instance,
    "heal_vnf": by_instance,
    "heal_vnf_wait": by_instance,
    "post_heal_vnf": by_instance,
    "get_scale_ids": _by("vnf_dict", "instance_id"),
    "get_scale_in_ids": _by("vnf_dict", "instance_id"),
    "scale": _by("policy", "instance_id"),
    "scale_wait": _by("policy", "instance_id"),
    "scale_resource_update": by_instance,
    "get_rollback_ids": _by("vnf_dict", "instance_id"),
    "scale_in_reverse": by_instance,
    "scale_update_wait": _by("vnf_info", "instance_id"),
    "get_grant_resource": by_instance,
    "get_cinder_list": _by("vnf_info", "instance_id"),
    "change_ext_conn_vnf": by_instance,
    "change_ext_conn_vnf_wait": by_instance,
    "post_change_ext_conn_vnf": by_instance,
    "sync_db": by_synchronization,
}
"""By method, the test whether a call is for the other driver.

``update_stack_wait`` is not among them: Tacker's own driver has none, and
its ``instantiate_vnf`` has already waited.
"""


# -- Delegate ----------------------------------------------------------------


@functools.cache
def driver() -> Any:
    """Return Tacker's own driver, created when it is first needed.

    Its Kubernetes client is slow to import, and most conductors do not need
    it.
    """
    return importlib.import_module(MODULE).Kubernetes()


def delegates_to(to: Callable[[], Any]) -> Callable[[Driver], Driver]:
    """Decorate a class: delegate calls for instances of another driver.

    :param to: returns the other driver.
    """

    def decorated(cls: Driver) -> Driver:
        for name, is_for_other in CALLS.items():
            own = getattr(cls, name)
            setattr(cls, name, _create_dispatcher(name, is_for_other, to, own))
        return cls

    return decorated


def _create_dispatcher(
    name: str,
    is_for_other: Callable[[Call], bool],
    other_driver: Callable[[], Any],
    own: Callable[..., Any],
) -> Callable[..., Any]:
    @functools.wraps(own)
    def called(self: Any, **call: Any) -> Any:
        if is_for_other(call):
            return getattr(other_driver(), name)(**call)
        return own(self, **call)

    return called
