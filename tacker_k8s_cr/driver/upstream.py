"""Instances of Tacker's own Kubernetes driver stay with it, in the v1 API.

Tacker has one driver for each type of VIM. Whose an instance is is told by
what Tacker keeps of it; a call for one that is not ours goes to Tacker's
own class, with the arguments that Tacker gave.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import functools
import importlib
from typing import Any, TypeVar

from tacker import objects
from tacker.objects import fields

from tacker_k8s_cr.driver import request
from tacker_k8s_cr.driver import translate

MODULE = "tacker.vnfm.infra_drivers.kubernetes.kubernetes_driver"

Call = Mapping[str, Any]
"""The arguments of a call, by name."""

Driver = TypeVar("Driver", bound=type)


# -- Whose a call is ---------------------------------------------------------


def by_request(call: Call) -> bool:
    """An instantiation, also as the second half of a heal."""
    asked = call["instantiate_vnf_req"].additional_params
    return request.of_helm(asked) or by_instance(call)


def by_instance(call: Call) -> bool:
    """By the instance's reference, or by what was done to it before."""
    vnf_instance = call["vnf_instance"]
    info = vnf_instance.instantiated_vnf_info
    if info and info.instance_id:
        return not translate.ours(info.instance_id)
    if info and request.of_helm(info.additional_params):
        return True
    if translate.noted(vnf_instance):
        return False
    # Nothing is ours before it is noted. What is left is new, or an
    # instantiation or a heal of the other driver that ended early.
    healed = vnf_instance.instantiation_state
    return healed == fields.VnfInstanceState.INSTANTIATED or bool(
        objects.VnfResourceList.get_by_vnf_instance_id(
            call["context"], vnf_instance.id
        ).objects
    )


def by_synchronization(call: Call) -> bool:
    """As by the instance, unless the configuration is to adopt it."""
    # Imported here: it needs a driver's modules that need this one.
    from tacker_k8s_cr.driver import adoption_v1

    return by_instance(call) and not adoption_v1.is_wanted(
        call["vnf_instance"]
    )


def _by(*path: str) -> Callable[[Call], bool]:
    """By a reference among the arguments; there is none for a new one."""

    def theirs(call: Call) -> bool:
        found: Any = call
        for key in path:
            found = found.get(key)
        return bool(found) and not translate.ours(found)

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
"""By method, how it is told that a call is for the other driver.

``update_stack_wait`` is not among them: Tacker's own driver has none, and
its ``instantiate_vnf`` has waited, so that there is nothing to wait for.
"""


# -- Handing over ------------------------------------------------------------


@functools.cache
def driver() -> Any:
    """Tacker's own driver, made when it is first needed.

    Its client for Kubernetes is slow to import, and most conductors have
    nothing for it to do.
    """
    return importlib.import_module(MODULE).Kubernetes()


def handing_over(to: Callable[[], Any]) -> Callable[[Driver], Driver]:
    """A class decorator: calls for instances of another driver go to it.

    :param to: gives the other driver.
    """

    def decorated(cls: Driver) -> Driver:
        for name, theirs in CALLS.items():
            ours = getattr(cls, name)
            setattr(cls, name, _dispatched(name, theirs, to, ours))
        return cls

    return decorated


def _dispatched(
    name: str,
    theirs: Callable[[Call], bool],
    to: Callable[[], Any],
    ours: Callable[..., Any],
) -> Callable[..., Any]:
    @functools.wraps(ours)
    def called(self: Any, **call: Any) -> Any:
        if theirs(call):
            return getattr(to(), name)(**call)
        return ours(self, **call)

    return called
