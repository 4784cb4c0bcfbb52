"""Tacker's infra driver, v1: an interpreter between Tacker and ``lcm``.

Tacker makes several of these before it forks, and calls one from many
threads: nothing is read, sent or started before a method is called, and
nothing is kept afterwards. Where Tacker has two calls, one to begin and
one to wait, the first does all and the second finds nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Mapping
import logging
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr import members
from tacker_k8s_cr import package
from tacker_k8s_cr import plugins
from tacker_k8s_cr import record
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.driver import conf
from tacker_k8s_cr.driver import failures
from tacker_k8s_cr.driver import request
from tacker_k8s_cr.driver import translate
from tacker_k8s_cr.driver import unsupported
from tacker_k8s_cr.driver import vim
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.report import Report

LOG = logging.getLogger(__name__)

READ_SECONDS = 60.0
"""For the calls that only look at what an instance has."""


class KubernetesCr(unsupported.Unsupported):
    """Packages of any Kubernetes manifests, custom resources among them."""

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
        vnf_instance: Any,
        instantiate_vnf_req: Any,
        vnf_package_path: str,
        **_: Any,
    ) -> dict[Any, Any]:
        """Check the request and the package, before anything is written.

        No VnfResource is returned: what an instance owns is in its record.
        """
        with failures.translated("instantiate", vnf_instance.id):
            asked = request.read(instantiate_vnf_req.additional_params)
            _package(vnf_package_path, instantiate_vnf_req)
            translate.note_namespace(vnf_instance, asked.namespace)
            vnf_instance.save()
        return {}

    def instantiate_vnf(
        self,
        *,
        vnf_instance: Any,
        vnfd_dict: dict[str, Any],
        vim_connection_info: Any,
        instantiate_vnf_req: Any,
        vnf_package_path: str,
        **_: Any,
    ) -> str:
        """Bring the package in; returns when all of it is current."""
        with failures.translated("instantiate", vnf_instance.id):
            settings = conf.settings()
            asked = request.read(instantiate_vnf_req.additional_params)
            found = _package(vnf_package_path, instantiate_vnf_req)
            levels = translate.first_levels(
                found, vnfd_dict, instantiate_vnf_req
            )
            vnfd_dict["scale_status"] = translate.scale_status(levels)
            again = vnfd_dict.get("before_error_point") == translate.TOUCHED
            vnfd_dict["current_error_point"] = translate.TOUCHED
            wanted: dict[str, Any] = {
                "namespace": asked.namespace,
                "deadline": Deadline.after(
                    asked.timeout or settings.instantiate_timeout
                ),
                "registry": plugins.registry(),
                "options": translate.options(asked, settings),
            }
            with vim.opened(
                vim_connection_info.access_info, settings
            ) as cluster:
                try:
                    report = lcm.instantiate(
                        cluster,
                        vnf_instance.id,
                        found,
                        level=instantiate_vnf_req.instantiation_level_id or "",
                        scale_levels=levels,
                        **wanted,
                    )
                except errors.InstanceExists:
                    # A retry after an error that came once all was there.
                    if not again:
                        raise
                    report = lcm.change(
                        cluster, vnf_instance.id, found, **wanted
                    )
        _log(report)
        where = translate.reference(vnf_instance.id, asked.namespace)
        vnfd_dict["instance_id"] = where
        return where

    def create_wait(self, **_: Any) -> None:
        """Nothing is left to wait for: ``instantiate_vnf`` did."""

    def update_stack_wait(self, **_: Any) -> None:
        """Nor when Tacker tries an instantiation again."""

    def post_vnf_instantiation(
        self, *, vnf_instance: Any, vim_connection_info: Any, **_: Any
    ) -> None:
        """Note the Pods and Machines. Tacker asks twice or more often."""
        self._note_members(
            "instantiate", vnf_instance, vim_connection_info.access_info
        )

    # -- Scale ---------------------------------------------------------------

    def scale(
        self,
        *,
        auth_attr: Mapping[str, Any],
        policy: Mapping[str, Any],
        **_: Any,
    ) -> None:
        """Scale an aspect to the level at which it is to end.

        Tacker calls this once for each step, and again after an error: the
        level is absolute, so that every call but the first changes nothing.
        """
        instance = policy["vnf_instance_id"]
        with failures.translated("scale", instance):
            settings = conf.settings()
            instance, namespace = translate.place(policy["instance_id"])
            with vim.opened(auth_attr, settings) as cluster:
                report = lcm.scale(
                    cluster,
                    instance,
                    aspect=policy["name"],
                    level=policy["vnf"]["after_scale_level"],
                    namespace=namespace,
                    deadline=Deadline.after(settings.scale_timeout),
                    registry=plugins.registry(),
                    options=translate.options(request.Asked(), settings),
                )
        _log(report)

    def scale_wait(self, **_: Any) -> None:
        """Nothing is left to wait for: ``scale`` did."""

    def get_scale_ids(
        self,
        *,
        vnf_dict: Mapping[str, Any],
        auth_attr: Mapping[str, Any],
        **_: Any,
    ) -> list[str]:
        """Names of the Pods and Machines that an aspect scales."""
        instance_id = vnf_dict["instance_id"]
        with failures.translated("scale", instance_id):
            place = translate.place(instance_id)
            with vim.opened(auth_attr, conf.settings()) as cluster:
                inventory = _inventory(cluster, *place)
                found = members.by_vdu(cluster, plugins.registry(), inventory)
        aspects = inventory.vnfd.aspects if inventory.vnfd else {}
        aspect = aspects.get(vnf_dict.get("policy_name", ""))
        scaled = aspect.steps if aspect else {}
        return [m.ref.name for vdu in scaled for m in found.get(vdu, ())]

    def get_scale_in_ids(
        self, **_: Any
    ) -> tuple[list[str], list[str], None, None]:
        """None: which of them go is decided by their controller."""
        return [], [], None, None

    def scale_resource_update(
        self, *, vnf_instance: Any, vim_connection_info: Any, **_: Any
    ) -> None:
        """Note the Pods and Machines; Tacker compares before and after."""
        self._note_members(
            "scale", vnf_instance, vim_connection_info.access_info
        )

    # -- Terminate -----------------------------------------------------------

    def delete(
        self,
        *,
        vnf_id: str | None,
        auth_attr: Mapping[str, Any],
        vnf_instance: Any,
        terminate_vnf_req: Any = None,
        **_: Any,
    ) -> None:
        """Take everything away; returns when it is gone.

        An instance without a record is gone already.
        """
        with failures.translated("terminate", vnf_instance.id):
            settings = conf.settings()
            instance, namespace = translate.place(vnf_id, vnf_instance)
            grace = translate.grace_seconds(terminate_vnf_req)
            seconds = settings.terminate_timeout + (grace or 0)
            with vim.opened(auth_attr, settings) as cluster:
                try:
                    report = lcm.terminate(
                        cluster,
                        instance,
                        namespace=namespace,
                        deadline=Deadline.after(seconds),
                        registry=plugins.registry(),
                        options=translate.options(
                            request.Asked(), settings, grace
                        ),
                    )
                except errors.InstanceUnknown as error:
                    LOG.info("%s; it counts as gone", error)
                    return
        _log(report)

    def delete_wait(self, **_: Any) -> None:
        """Nothing is left to wait for: ``delete`` did."""

    def delete_vnf_instance_resource(self, **_: Any) -> None:
        """Nothing is behind a VnfResource that is not in the record."""

    def post_heal_vnf(
        self, *, vnf_instance: Any, vim_connection_info: Any, **_: Any
    ) -> None:
        """Note the Pods and Machines after a heal of the whole instance.

        That is a termination and an instantiation to Tacker.
        """
        self._note_members(
            "heal", vnf_instance, vim_connection_info.access_info
        )

    def _note_members(
        self, operation: str, vnf_instance: Any, access: Mapping[str, Any]
    ) -> None:
        info = vnf_instance.instantiated_vnf_info
        with failures.translated(operation, vnf_instance.id):
            place = translate.place(info.instance_id, vnf_instance)
            with vim.opened(access, conf.settings()) as cluster:
                inventory = _inventory(cluster, *place)
                found = members.by_vdu(cluster, plugins.registry(), inventory)
        info.vnfc_resource_info = translate.vnfc_resources(found)


def _package(path: str, instantiate_vnf_req: Any) -> Package:
    """The package that Tacker unpacked, with the manifests asked for."""
    asked = request.read(instantiate_vnf_req.additional_params)
    return package.load(
        path,
        def_files=asked.files or None,
        flavour=instantiate_vnf_req.flavour_id,
    )


def _inventory(cluster: Cluster, instance: str, namespace: str) -> Inventory:
    brief = cluster.until(Deadline.after(READ_SECONDS))
    entry = record.read(brief, instance, namespace)
    if entry is None:
        raise errors.InstanceUnknown(instance, namespace)
    return entry.inventory


def _log(report: Report) -> None:
    LOG.info(
        "%s: %s done: %d object(s), %.1f s, %d requests",
        report.instance,
        report.operation,
        len(report.rows),
        report.seconds,
        report.requests,
    )
