"""The infrastructure driver of Tacker's v2 API: translates calls.

Tacker creates a new one for each operation, and calls it with positional
arguments. Tacker stores the instance only when the operation is completed:
the objects of an operation that ended early are in the record in the cluster.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
from typing import Any

from tacker_k8s_cr.driver import adoption
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import operations
from tacker_k8s_cr.driver import packages
from tacker_k8s_cr.driver.additional_params import RequestParams
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.driver.v2 import abandoned_instantiation
from tacker_k8s_cr.driver.v2 import adoption as adoption_v2
from tacker_k8s_cr.driver.v2 import delegate
from tacker_k8s_cr.driver.v2 import mapping
from tacker_k8s_cr.driver.v2 import modification
from tacker_k8s_cr.driver.v2 import problem_details
from tacker_k8s_cr.driver.v2 import sync_db
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.package import unselected_files

LOG = logging.getLogger(__name__)


class KubernetesCrV2:
    """The infrastructure driver for packages of any Kubernetes manifests."""

    def instantiate(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        """Instantiate the package; new instances use this driver.

        Tacker instantiates an instance once, so that an existing one is of
        an operation that is repeated.
        """
        about = mapping.occurrence(grant_req)
        with problem_details.translate_errors("instantiate", inst.id, about):
            params, package = packages.load_new(
                vnfd.csar_dir,
                mapping.request_params(req, "instantiate"),
                req.flavourId,
            )
            target = mapping.target(
                inst,
                grant_req,
                record_namespace=instances.choose_record_namespace(params),
                namespace=params.namespace,
            )
            abandoned_instantiation.check_abandoned(target)
            operations.instantiate(
                target,
                package,
                params,
                level=req.get("instantiationLevelId", None) or "",
                again=True,
            )
            inventory, members = instances.read_members(target)
            mapping.note_instantiated(
                inst, req, params, members, target.record_namespace
            )
            mapping.note_vdus(inst, inventory)

    def instantiate_rollback(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        """Delete the objects in the record; without a record, do nothing."""
        about = mapping.occurrence(grant_req)
        with problem_details.translate_errors(
            "instantiate_rollback", inst.id, about
        ):
            try:
                params = mapping.request_params(req, "instantiate")
            except errors.RequestInvalid:
                LOG.warning(
                    "the request was refused before anything was written; "
                    "nothing is removed"
                )
                return
            params, inventory = _namespace(vnfd, req, params)
            target = instances.locate_record(
                mapping.target(
                    inst,
                    grant_req,
                    record_namespace=instances.choose_record_namespace(params),
                    namespace=params.namespace if inventory else "",
                )
            )
            try:
                instances.find_inventory(target)
            except errors.Forbidden as error:
                LOG.warning(
                    "%s; nothing is removed, since an instantiation reads "
                    "the record before it writes anything",
                    error,
                )
                return
            # The record contains it; a manifest takes precedence over it.
            params = dataclasses.replace(params, statefulset_claims="")
            if operations.terminate(target, params) is None:
                LOG.warning(
                    "no record in the namespace %s; nothing is removed",
                    target.record_namespace,
                )

    @delegate.delegate_unmanaged
    def terminate(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        """Delete all objects. Tacker itself resets the instance."""
        target = mapping.target(inst, grant_req)
        operations.terminate(
            target,
            mapping.request_params(req, "terminate", target.namespace),
            mapping.grace_seconds(req),
        )

    @delegate.delegate_unmanaged
    def scale(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        """Scale to the requested level of the aspect.

        The grant is not read: it is empty if there is no VNFC yet.
        """
        target = mapping.target(inst, grant_req)
        params = mapping.request_params(req, "scale", target.namespace)
        modification.adopt(inst, target)
        level = mapping.level(inst, req)
        operations.scale(target, req.aspectId, level, params)
        _note_members(inst, target)

    @delegate.delegate_unmanaged
    def scale_rollback(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        """Scale to the level in Tacker's database.

        Tacker does not store the instance afterwards. The controller selects
        the VNFCs to delete; if they are not the new ones, the next
        synchronization updates the database.
        """
        target = mapping.target(inst, grant_req)
        before = mapping.level_before(inst, req)
        if not instances.needs_scale_rollback(
            instances.find_inventory(target), req.aspectId, before
        ):
            LOG.info("nothing to roll back: no scale had been applied")
            return
        params = mapping.request_params(req, "scale", target.namespace)
        operations.scale(target, req.aspectId, before, params)

    @delegate.delegate_unmanaged
    def heal(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        """Replace the named VNFCs, or all, in place."""
        target = mapping.target(inst, grant_req)
        modification.adopt(inst, target)
        inventory, members = instances.read_members(target)
        selected = mapping.selected_members(inst, req, members, inventory)
        params = mapping.request_params(req, "heal", target.namespace)
        operations.heal(target, selected, params)
        _note_members(inst, target)

    @delegate.delegate_unmanaged
    def change_vnfpkg(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        """Replace the whole package.

        Objects of the new package in files that the request does not select
        are retained: as with Tacker's own driver, a request names the files of
        the VDUs that change.

        :param vnfd: that of the new package.
        """
        target = mapping.target(inst, grant_req)
        params = mapping.change_params(req, target.namespace)
        modification.adopt(inst, target)
        flavour = inst.instantiatedVnfInfo.flavourId
        package = packages.load(vnfd.csar_dir, params, flavour)
        retain = unselected_files.find_objects(
            vnfd.csar_dir, params.files, target.namespace
        )
        operations.change(target, package, params, retain)
        mapping.note_files(inst, params.files)
        _note_members(inst, target)

    @delegate.delegate_unmanaged
    def change_vnfpkg_rollback(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        """Restore the previous package from the record.

        If the change was rejected, there is nothing to restore. Tacker
        stores the instance afterwards, with its current VNFCs.

        :param vnfd: of the previous package.
        """
        target = mapping.target(inst, grant_req)
        params = mapping.previous_request_params(inst, req, target.namespace)
        flavour = inst.instantiatedVnfInfo.flavourId
        package = packages.load(vnfd.csar_dir, params, flavour)
        operations.roll_back(target, package, params)
        _note_members(inst, target)

    # -- Tacker's database against the cluster -------------------------------

    def diff_check_inst(self, inst: Any, vim_info: Any) -> None:
        """Raise DbSyncNoDiff if Tacker's database is up to date."""
        if mapping.is_managed(inst):
            sync_db.check(inst, vim_info)
        elif not adoption_v2.is_wanted(inst):
            delegate.driver().diff_check_inst(inst, vim_info)

    def sync_db(self, context: Any, inst: Any, vim_info: Any) -> None:
        """Store the live state; Tacker holds its lock on the instance."""
        if mapping.is_managed(inst):
            sync_db.synchronize(inst, vim_info)
        elif not (adoption_v2.is_wanted(inst) and _is_adopted(inst, vim_info)):
            delegate.driver().sync_db(context, inst, vim_info)


def _is_adopted(inst: Any, vim_info: Any) -> bool:
    attempt = functools.partial(adoption_v2.adopt, inst, vim_info)
    return adoption.is_adopted(inst.id, attempt)


def _namespace(
    vnfd: Any, req: Any, params: RequestParams
) -> tuple[RequestParams, bool]:
    """Return the namespace of an instantiation, and whether it is known.

    A package that can no longer be read, since it has a manifest by URL,
    must not prevent the deletion of its objects.
    """
    if params.has_namespace:
        return params, True
    try:
        namespace, _ = packages.load_new(vnfd.csar_dir, params, req.flavourId)
    except errors.Error as error:
        LOG.warning("the package cannot be read: %s", error)
        return params, False
    return namespace, True


def _note_members(inst: Any, target: InstanceTarget) -> None:
    inventory, members = instances.read_members(target)
    mapping.note_members(inst, members)
    mapping.note_vdus(inst, inventory)
