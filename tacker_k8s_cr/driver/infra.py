"""Tacker's infra driver, v1: an interpreter between Tacker and ``lcm``.

Tacker makes several of these before it forks, and calls one from many
threads: nothing is read, sent or started before a method is called, and
nothing is kept afterwards. Where Tacker has two calls, one to begin and
one to wait, the first does all and the second finds nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import dataclasses
import logging
from typing import Any

from tacker import objects

from tacker_k8s_cr import errors
from tacker_k8s_cr.driver import adoption_v1
from tacker_k8s_cr.driver import elsewhere
from tacker_k8s_cr.driver import failures
from tacker_k8s_cr.driver import hook
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import occurrences
from tacker_k8s_cr.driver import operations
from tacker_k8s_cr.driver import request
from tacker_k8s_cr.driver import resources
from tacker_k8s_cr.driver import scaling
from tacker_k8s_cr.driver import script_changes
from tacker_k8s_cr.driver import synchronizing
from tacker_k8s_cr.driver import translate
from tacker_k8s_cr.driver import upstream
from tacker_k8s_cr.driver.instances import Target
from tacker_k8s_cr.package.model import Package

LOG = logging.getLogger(__name__)


@upstream.handing_over(upstream.driver)
class KubernetesCr(scaling.Scaling):
    """Packages of any Kubernetes manifests, custom resources among them."""

    def __init__(self) -> None:
        hook.install()

    def get_type(self) -> str:
        """The type of the VIMs that it serves, by which Tacker finds it."""
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

        Returns what Tacker is to keep of the package's objects.
        """
        with failures.translated("instantiate", vnf_instance.id):
            asked, found = _read(instantiate_vnf_req, vnf_package_path)
            target = Target(
                vnf_instance.id,
                translate.home(vnf_instance, instances.home(asked)),
                translate.access(vim_connection_info),
                namespace=asked.namespace,
            )
            elsewhere.refuse(context, vnf_instance, target)
            vim_id = vim_connection_info.vim_id
            if translate.note(vnf_instance, target, vim_id):
                vnf_instance.save()
            known = objects.VnfResourceList.get_by_vnf_instance_id(
                context, vnf_instance.id
            )
            rows = resources.vnf_resources(
                context, vnf_instance, found, known.objects
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
        """Bring the package in; returns when all of it is current.

        As the second half of a heal of a whole instance, heal it in place.
        """
        occurrence = occurrences.touched(context, vnf_instance.id)
        with failures.translated("instantiate", vnf_instance.id, occurrence):
            asked, found = _read(instantiate_vnf_req, vnf_package_path)
            levels = translate.first_levels(
                found, vnfd_dict, instantiate_vnf_req
            )
            home = translate.home(vnf_instance, instances.home(asked))
            where = translate.reference(vnf_instance.id, home)
            target = dataclasses.replace(
                translate.target(where, translate.access(vim_connection_info)),
                occurrence=occurrence,
            )
            vnfd_dict["scale_status"] = translate.scale_status(levels)
            vnfd_dict["current_error_point"] = occurrences.TOUCHED
            if not (
                translate.healing(vnf_instance)
                and self._healed(context, vnf_instance, target, levels)
            ):
                # Tacker lets only one that is not instantiated come here,
                # so one that is there is what an earlier try has left.
                operations.instantiate(
                    target,
                    found,
                    asked,
                    level=instantiate_vnf_req.instantiation_level_id or "",
                    scale_levels=levels,
                    again=True,
                )
        vnfd_dict["instance_id"] = where
        return where

    def create_wait(self, **_: Any) -> None:
        """Nothing is left to wait for: ``instantiate_vnf`` did."""

    def update_stack_wait(self, **_: Any) -> None:
        """Nor when Tacker tries an instantiation again: it ran again too."""

    def post_vnf_instantiation(
        self, *, vnf_instance: Any, vim_connection_info: Any, **_: Any
    ) -> None:
        """Note the Pods and Machines. Tacker asks twice or more often."""
        synchronizing.note_members(
            "instantiate", vnf_instance, vim_connection_info
        )

    # -- Heal ----------------------------------------------------------------

    def heal_vnf(
        self,
        *,
        context: Any,
        vnf_instance: Any,
        vim_connection_info: Any,
        heal_vnf_request: Any,
        **_: Any,
    ) -> None:
        """Replace the Pods and Machines of the VNFCs that are named.

        Tacker swallows what its call to wait raises, so all is done here.
        """
        occurrence = occurrences.touched(context, vnf_instance.id)
        with failures.translated("heal", vnf_instance.id, occurrence):
            target = dataclasses.replace(
                translate.target_of(vnf_instance, vim_connection_info),
                occurrence=occurrence,
            )
            asked = request.read(
                heal_vnf_request.additional_params,
                "heal",
                home=target.namespace,
            )
            script_changes.adopt_v1(context, vnf_instance, target)
            inventory, members = instances.members(target)
            wanted = resources.chosen(
                heal_vnf_request.vnfc_instance_id,
                vnf_instance.instantiated_vnf_info.vnfc_resource_info,
                members,
                inventory,
            )
            operations.heal(target, wanted, asked)

    def heal_vnf_wait(self, **_: Any) -> None:
        """Nothing is left to wait for: ``heal_vnf`` did."""

    def post_heal_vnf(
        self,
        *,
        vnf_instance: Any,
        vim_connection_info: Any,
        heal_vnf_request: Any,
        **_: Any,
    ) -> None:
        """Note the Pods and Machines, also after a heal that failed."""
        synchronizing.note_members(
            "heal",
            vnf_instance,
            vim_connection_info,
            heal_vnf_request.vnfc_instance_id or (),
        )

    def _healed(
        self,
        context: Any,
        vnf_instance: Any,
        target: Target,
        levels: Mapping[str, int],
    ) -> bool:
        """Heal all in place; False if there is no record to heal from.

        What Tacker gives is the request of the instantiation.
        """
        # Tacker has forgotten all of it by now, and stores what it finds
        # here when the heal fails.
        info = vnf_instance.instantiated_vnf_info
        info.instance_id = translate.reference(target.instance, target.home)
        info.scale_status = translate.scale_status(levels)
        params = occurrences.parameters(context, target.occurrence)
        try:
            asked = request.read(params, "heal", home=target.namespace)
            script_changes.adopt_v1(context, vnf_instance, target)
            operations.heal(target, None, asked)
        except errors.InstanceUnknown as error:
            LOG.warning("%s; it is instantiated anew", error)
            info.instance_id = None
            return False
        except errors.Error:
            with contextlib.suppress(errors.Error):
                found = instances.members(target)[1]
                info.vnfc_resource_info = resources.vnfc_resources(found)
            raise
        return True

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
        """Take everything away; returns when it is gone.

        Nothing is, as the first half of a heal of the whole instance.
        """
        if translate.healing(vnf_instance):
            return
        occurrence = occurrences.touched(context, vnf_instance.id)
        with failures.translated("terminate", vnf_instance.id, occurrence):
            target = translate.target(vnf_id, auth_attr, vnf_instance)
            asked = _asked_to_terminate(terminate_vnf_req, target.namespace)
            # Without a reference this is the rollback of an instantiation.
            if vnf_id or elsewhere.readable(target):
                grace = translate.grace_seconds(terminate_vnf_req)
                operations.terminate(target, asked, grace)
            if translate.forget_vim(vnf_instance):
                vnf_instance.save()

    def delete_wait(self, **_: Any) -> None:
        """Nothing is left to wait for: ``delete`` did."""

    def delete_vnf_instance_resource(self, **_: Any) -> None:
        """Nothing is behind a VnfResource that is not in the record."""

    # -- Synchronize ---------------------------------------------------------

    def sync_db(
        self, *, context: Any, vnf_instance: Any, vim_info: Any, **_: Any
    ) -> None:
        """Note what changed without Tacker; it asks from time to time."""
        with failures.translated("synchronize", vnf_instance.id):
            if adoption_v1.is_possible(vnf_instance):
                self._adopt(context, vnf_instance, vim_info)
                return
            target = translate.target_of(vnf_instance, vim_info)
            synchronizing.synchronize(context, vnf_instance, target)

    def _adopt(self, context: Any, vnf_instance: Any, vim_info: Any) -> None:
        """Adopt an instance; where that fails it stays with upstream's."""
        try:
            adoption_v1.adopt(context, vnf_instance, vim_info)
        except errors.Error as error:
            LOG.warning("%s: not adopted: %s", vnf_instance.id, error)
            upstream.driver().sync_db(
                context=context, vnf_instance=vnf_instance, vim_info=vim_info
            )


def _read(
    instantiate_vnf_req: Any, path: str
) -> tuple[request.Asked, Package]:
    """Return the request, and the package that Tacker unpacked."""
    asked = request.read(instantiate_vnf_req.additional_params)
    flavour = instantiate_vnf_req.flavour_id
    return operations.loaded_first(path, asked, flavour)


def _asked_to_terminate(terminate_vnf_req: Any, home: str) -> request.Asked:
    if terminate_vnf_req is None:
        return request.Asked()
    params = terminate_vnf_req.additional_params
    return request.read(params, "terminate", home=home)
