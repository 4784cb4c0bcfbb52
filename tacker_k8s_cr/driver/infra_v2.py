"""Tacker's driver of v2: an interpreter between Tacker and ``operations``.

Tacker makes a new one for each operation, and calls it with positional
arguments. What it leaves in the instance is stored only when the operation
is completed: what an operation that ended early has made is found by the
record in the cluster.
"""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr.driver import adoption_v2
from tacker_k8s_cr.driver import elsewhere_v2
from tacker_k8s_cr.driver import failures_v2
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import operations
from tacker_k8s_cr.driver import script_changes
from tacker_k8s_cr.driver import synchronizing_v2
from tacker_k8s_cr.driver import translate_v2 as translate
from tacker_k8s_cr.driver import upstream_v2 as upstream
from tacker_k8s_cr.driver.instances import Target
from tacker_k8s_cr.driver.request import Asked
from tacker_k8s_cr.package import unselected

LOG = logging.getLogger(__name__)


class KubernetesCrV2:
    """Packages of any Kubernetes manifests, in the place of upstream's."""

    def instantiate(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        """Bring the package in; a new instance is always ours.

        Tacker sees to it that an instance is instantiated once, so that one
        which is there already was made by an operation tried again.
        """
        about = translate.occurrence(grant_req)
        with failures_v2.translated("instantiate", inst.id, about):
            asked, package = operations.loaded_first(
                vnfd.csar_dir,
                translate.asked(req, "instantiate"),
                req.flavourId,
            )
            target = translate.target(
                inst,
                grant_req,
                home=instances.home(asked),
                namespace=asked.namespace,
            )
            elsewhere_v2.refuse(target)
            operations.instantiate(
                target,
                package,
                asked,
                level=req.get("instantiationLevelId", None) or "",
                again=True,
            )
            inventory, found = instances.members(target)
            translate.note_instantiated(inst, req, asked, found, target.home)
            translate.note_vdus(inst, inventory)

    def instantiate_rollback(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        """Take away what the record says, and nothing without a record."""
        about = translate.occurrence(grant_req)
        with failures_v2.translated("instantiate_rollback", inst.id, about):
            try:
                asked = translate.asked(req, "instantiate")
            except errors.RequestInvalid:
                LOG.warning(
                    "the request was refused before anything was written; "
                    "nothing is removed"
                )
                return
            asked, known = _namespace(vnfd, req, asked)
            target = instances.located(
                translate.target(
                    inst,
                    grant_req,
                    home=instances.home(asked),
                    namespace=asked.namespace if known else "",
                )
            )
            try:
                instances.inventory(target)
            except errors.Forbidden as error:
                LOG.warning(
                    "%s; nothing is removed, since an instantiation reads "
                    "the record before it writes anything",
                    error,
                )
                return
            # The record contains it; a manifest takes precedence over it.
            asked = dataclasses.replace(asked, statefulset_claims="")
            if operations.terminate(target, asked) is None:
                LOG.warning(
                    "no record in the namespace %s; nothing is removed",
                    target.home,
                )

    @upstream.shared
    def terminate(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        """Take everything away. Tacker itself resets the instance."""
        target = translate.target(inst, grant_req)
        operations.terminate(
            target,
            translate.asked(req, "terminate", target.namespace),
            translate.grace_seconds(req),
        )

    @upstream.shared
    def scale(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        """Scale to the level at which the aspect is to end.

        The grant is not asked: it names nothing where there is no VNFC yet.
        """
        target = translate.target(inst, grant_req)
        asked = translate.asked(req, "scale", target.namespace)
        script_changes.adopt_v2(inst, target)
        level = translate.level(inst, req)
        operations.scale(target, req.aspectId, level, asked)
        _note_members(inst, target)

    @upstream.shared
    def scale_rollback(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        """Scale to the level that Tacker still has.

        Tacker does not store the instance after it. Which VNFCs went is
        their controller's choice; the database follows by its next
        synchronization where it was another than before.
        """
        target = translate.target(inst, grant_req)
        before = translate.level_before(inst, req)
        if not instances.scale_begun(
            instances.inventory(target), req.aspectId, before
        ):
            LOG.info("nothing was scaled; nothing is taken back")
            return
        asked = translate.asked(req, "scale", target.namespace)
        operations.scale(target, req.aspectId, before, asked)

    @upstream.shared
    def heal(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        """Replace the named VNFCs, or all, in place."""
        target = translate.target(inst, grant_req)
        script_changes.adopt_v2(inst, target)
        inventory, found = instances.members(target)
        wanted = translate.members_asked(inst, req, found, inventory)
        asked = translate.asked(req, "heal", target.namespace)
        operations.heal(target, wanted, asked)
        _note_members(inst, target)

    @upstream.shared
    def change_vnfpkg(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        """Replace the whole package.

        What the new package still has in files that the request does not
        select stays: with Tacker's own driver, a request names the files of
        the VDUs that change.

        :param vnfd: that of the new package.
        """
        target = translate.target(inst, grant_req)
        asked = translate.change_asked(req, target.namespace)
        script_changes.adopt_v2(inst, target)
        flavour = inst.instantiatedVnfInfo.flavourId
        package = operations.loaded(vnfd.csar_dir, asked, flavour)
        retain = unselected.objects(
            vnfd.csar_dir, asked.files, target.namespace
        )
        operations.change(target, package, asked, retain)
        translate.note_files(inst, asked.files)
        _note_members(inst, target)

    @upstream.shared
    def change_vnfpkg_rollback(
        self, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        """Restore the former package, as the record has it.

        The former package itself says whether there is anything to restore:
        nothing is, where the change was refused. Tacker stores the instance
        after it, which is as it was but for the VNFCs.

        :param vnfd: that of the former package.
        """
        target = translate.target(inst, grant_req)
        asked = translate.asked_before(inst, req, target.namespace)
        flavour = inst.instantiatedVnfInfo.flavourId
        package = operations.loaded(vnfd.csar_dir, asked, flavour)
        operations.roll_back(target, package, asked)
        _note_members(inst, target)

    # -- Tacker's database against the cluster -------------------------------

    def diff_check_inst(self, inst: Any, vim_info: Any) -> None:
        """Raise DbSyncNoDiff where Tacker knows all that is there."""
        if translate.is_ours(inst):
            synchronizing_v2.check(inst, vim_info)
        elif not adoption_v2.is_wanted(inst):
            upstream.driver().diff_check_inst(inst, vim_info)

    def sync_db(self, context: Any, inst: Any, vim_info: Any) -> None:
        """Note what is there; Tacker holds its lock on the instance."""
        if translate.is_ours(inst):
            synchronizing_v2.synchronize(inst, vim_info)
        elif not (adoption_v2.is_wanted(inst) and _adopt(inst, vim_info)):
            upstream.driver().sync_db(context, inst, vim_info)


def _adopt(inst: Any, vim_info: Any) -> bool:
    """Adopt an instance; where that fails it stays with upstream's."""
    try:
        adoption_v2.adopt(inst, vim_info)
    except errors.Error as error:
        LOG.warning("%s: not adopted: %s", inst.id, error)
        return False
    return True


def _namespace(vnfd: Any, req: Any, asked: Asked) -> tuple[Asked, bool]:
    """The namespace that an instantiation had, and whether it is known.

    A package that cannot be read any more, since it names a manifest by a
    URL, must not keep its objects from being removed.
    """
    if asked.has_namespace:
        return asked, True
    try:
        found, _ = operations.loaded_first(vnfd.csar_dir, asked, req.flavourId)
    except errors.Error as error:
        LOG.warning("the package cannot be read: %s", error)
        return asked, False
    return found, True


def _note_members(inst: Any, target: Target) -> None:
    inventory, found = instances.members(target)
    translate.note_members(inst, found)
    translate.note_vdus(inst, inventory)
