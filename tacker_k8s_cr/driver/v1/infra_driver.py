"""The infrastructure driver of Tacker's v1 API: translates calls.

Tacker creates several of these before it forks, and calls one from many
threads: nothing is read, sent or started before a method is called, and
nothing is kept afterwards. If Tacker has one call to begin and another to
wait, the first performs and waits, and the second does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import functools
from typing import Any

from tacker import objects

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import adoption
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import operations
from tacker_k8s_cr.driver import packages
from tacker_k8s_cr.driver import references
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.driver.v1 import abandoned_instantiation
from tacker_k8s_cr.driver.v1 import adoption as adoption_v1
from tacker_k8s_cr.driver.v1 import delegate
from tacker_k8s_cr.driver.v1 import healing
from tacker_k8s_cr.driver.v1 import lcm_op_occs
from tacker_k8s_cr.driver.v1 import mapping
from tacker_k8s_cr.driver.v1 import scaling
from tacker_k8s_cr.driver.v1 import sync_db
from tacker_k8s_cr.driver.v1 import tacker_errors
from tacker_k8s_cr.driver.v1 import vnf_resources
from tacker_k8s_cr.driver.v2 import loader
from tacker_k8s_cr.model.package import Package


@delegate.delegates_to(delegate.driver)
class KubernetesCr(healing.Healing, scaling.Scaling):
    """The infrastructure driver for packages of any Kubernetes manifests."""

    def __init__(self) -> None:
        loader.install()

    def get_type(self) -> str:
        """Return the type of its VIMs, by which Tacker selects it."""
        return "kubernetes"

    def get_name(self) -> str:
        return "kubernetes_cr"

    def get_description(self) -> str:
        return "VNF packages of Kubernetes manifests of any kind"

    # -- Instantiate ---------------------------------------------------------

    def pre_instantiation_vnf(
        self,
        *,
        context: Any,
        vnf_instance: Any,
        vim_connection_info: Any,
        instantiate_vnf_req: Any,
        vnf_package_path: str,
        **_: Any,
    ) -> dict[Any, Any]:
        """Check the request and the package, before anything is written.

        Return what Tacker stores of the objects of the package.
        """
        with tacker_errors.translate_errors("instantiate", vnf_instance.id):
            params, package = _read(instantiate_vnf_req, vnf_package_path)
            target = InstanceTarget(
                vnf_instance.id,
                mapping.choose_record_namespace(
                    vnf_instance, instances.choose_record_namespace(params)
                ),
                mapping.access(vim_connection_info),
                namespace=params.namespace,
            )
            abandoned_instantiation.check_abandoned(
                context, vnf_instance, target
            )
            vim_id = vim_connection_info.vim_id
            if mapping.note_reference(vnf_instance, target, vim_id):
                vnf_instance.save()
            stored = objects.VnfResourceList.get_by_vnf_instance_id(
                context, vnf_instance.id
            )
            rows = vnf_resources.vnf_resources(
                context, vnf_instance, package, stored.objects
            )
        return {vnf_instance.id: rows} if rows else {}

    def instantiate_vnf(
        self,
        *,
        context: Any,
        vnf_instance: Any,
        vnfd_dict: dict[str, Any],
        vim_connection_info: Any,
        instantiate_vnf_req: Any,
        vnf_package_path: str,
        **_: Any,
    ) -> str:
        """Instantiate the package; return when all objects are current.

        As the second half of a heal of a whole instance, heal it in place.
        """
        occurrence = lcm_op_occs.mark_started(context, vnf_instance.id)
        with tacker_errors.translate_errors(
            "instantiate", vnf_instance.id, occurrence
        ):
            params, package = _read(instantiate_vnf_req, vnf_package_path)
            levels = mapping.initial_levels(
                package, vnfd_dict, instantiate_vnf_req
            )
            record_namespace = mapping.choose_record_namespace(
                vnf_instance, instances.choose_record_namespace(params)
            )
            reference = references.format_reference(
                vnf_instance.id, record_namespace
            )
            target = dataclasses.replace(
                mapping.target(reference, mapping.access(vim_connection_info)),
                occurrence=occurrence,
            )
            vnfd_dict["scale_status"] = mapping.scale_status(levels)
            vnfd_dict["current_error_point"] = lcm_op_occs.TOUCHED
            if not (
                mapping.is_healing(vnf_instance)
                and healing.heal_in_place(
                    context, vnf_instance, target, levels
                )
            ):
                # Tacker instantiates only instances that it did not store as
                # instantiated: an existing one is of an earlier attempt.
                operations.instantiate(
                    target,
                    package,
                    params,
                    level=instantiate_vnf_req.instantiation_level_id or "",
                    scale_levels=levels,
                    again=True,
                )
        vnfd_dict["instance_id"] = reference
        return reference

    def create_wait(self, **_: Any) -> None:
        """Do nothing: ``instantiate_vnf`` has waited."""

    def update_stack_wait(self, **_: Any) -> None:
        """Do nothing: a repeated instantiation has waited too."""

    def post_vnf_instantiation(
        self, *, vnf_instance: Any, vim_connection_info: Any, **_: Any
    ) -> None:
        """Store the Pods and Machines. Tacker calls it repeatedly."""
        sync_db.note_members("instantiate", vnf_instance, vim_connection_info)

    # -- Terminate -----------------------------------------------------------

    def delete(
        self,
        *,
        context: Any,
        vnf_id: str | None,
        auth_attr: Mapping[str, Any],
        vnf_instance: Any,
        terminate_vnf_req: Any = None,
        **_: Any,
    ) -> None:
        """Delete all objects; return when they no longer exist.

        As the first half of a heal of the whole instance, do nothing.
        """
        if mapping.is_healing(vnf_instance):
            return
        occurrence = lcm_op_occs.mark_started(context, vnf_instance.id)
        with tacker_errors.translate_errors(
            "terminate", vnf_instance.id, occurrence
        ):
            target = mapping.target(vnf_id, auth_attr, vnf_instance)
            params = _terminate_params(terminate_vnf_req, target.namespace)
            # Without a reference this rolls back an instantiation.
            if vnf_id or abandoned_instantiation.is_readable(target):
                grace = mapping.grace_seconds(terminate_vnf_req)
                operations.terminate(target, params, grace)
            if mapping.forget_vim(vnf_instance):
                vnf_instance.save()

    def delete_wait(self, **_: Any) -> None:
        """Do nothing: ``delete`` has waited."""

    def delete_vnf_instance_resource(self, **_: Any) -> None:
        """Do nothing: the record lists the objects of all VnfResources."""

    # -- Synchronize ---------------------------------------------------------

    def sync_db(
        self, *, context: Any, vnf_instance: Any, vim_info: Any, **_: Any
    ) -> None:
        """Store what changed without Tacker; called periodically."""
        with tacker_errors.translate_errors("synchronize", vnf_instance.id):
            if adoption_v1.is_possible(vnf_instance):
                self._adopt(context, vnf_instance, vim_info)
                return
            target = mapping.target_of(vnf_instance, vim_info)
            sync_db.synchronize(context, vnf_instance, target)

    def _adopt(self, context: Any, vnf_instance: Any, vim_info: Any) -> None:
        """Adopt an instance, else synchronize it by Tacker's own driver."""
        attempt = functools.partial(
            adoption_v1.adopt, context, vnf_instance, vim_info
        )
        if not adoption.is_adopted(vnf_instance.id, attempt):
            delegate.driver().sync_db(
                context=context, vnf_instance=vnf_instance, vim_info=vim_info
            )


def _read(
    instantiate_vnf_req: Any, path: str
) -> tuple[additional_params.RequestParams, Package]:
    """Return the request, and the package that Tacker unpacked."""
    params = additional_params.read(instantiate_vnf_req.additional_params)
    flavour = instantiate_vnf_req.flavour_id
    return packages.load_new(path, params, flavour)


def _terminate_params(
    terminate_vnf_req: Any, namespace: str
) -> additional_params.RequestParams:
    if terminate_vnf_req is None:
        return additional_params.RequestParams()
    params = terminate_vnf_req.additional_params
    return additional_params.read(
        params, "terminate", instance_namespace=namespace
    )
