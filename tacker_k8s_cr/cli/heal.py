"""The commands ``heal`` and ``rollback``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.cli import inputs
from tacker_k8s_cr.cli import resolve_object
from tacker_k8s_cr.cli.instance_command import InstanceCommand
from tacker_k8s_cr.cli.plain_progress import NullProgress
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.report import Report

if TYPE_CHECKING:
    from tacker_k8s_cr.kinds.base import Registry
    from tacker_k8s_cr.kube.protocol import Cluster


class Heal(InstanceCommand):
    """Replace Pods or Machines of an instance, and wait for the new ones.

    With --all the package is applied again first: missing objects are created,
    and changes by other clients are reverted. No other object is deleted, and
    no Cluster. A heal that ended early is continued when it is repeated.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "members",
            metavar="KIND/NAME",
            nargs="*",
            help="a Pod or Machine of the instance, such as Pod/web-1; one of "
            "several in different namespaces as KIND/NAMESPACE/NAME",
        )

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: NullProgress,
    ) -> Report:
        if args.all is bool(args.members):
            raise errors.RequestInvalid(
                "heal: expected either members or --all"
            )
        return k8s_cr.heal(
            self.request(
                args,
                cluster,
                deadline,
                options=inputs.operation_options(args),
                on_progress=listen,
            ),
            None
            if args.all
            else _resolve_members(
                args, cluster.with_deadline(deadline), self.registry
            ),
        )


class Rollback(InstanceCommand):
    """Roll back the operation that ended early, or else the last change.

    The objects of an instantiation are deleted. After a scale, the former
    replica counts are set. After a change of package, the objects that it
    created are deleted and the former manifests are applied again. A repeated
    command has no further effect.
    """

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: NullProgress,
    ) -> Report:
        return k8s_cr.roll_back(
            self.request(
                args,
                cluster,
                deadline,
                options=inputs.operation_options(args),
                on_progress=listen,
            )
        )


def _resolve_members(
    args: argparse.Namespace, cluster: Cluster, registry: Registry
) -> set[str]:
    """Return the UIDs of the members that are named.

    A member that a heal has already replaced may be named, and one that only
    the record contains. A controller may give the new member the name of the
    old one: until a heal of selected members has finished, a repeated command
    means the old ones.
    """
    from tacker_k8s_cr.lcm.healing import members
    from tacker_k8s_cr.lcm.healing import pending_members
    from tacker_k8s_cr.lcm.healing import selection
    from tacker_k8s_cr.plan.journal import Phase

    inventory = inputs.read_inventory(args, cluster)
    groups = members.groups_by_owner(cluster, registry, inventory)
    recorded = pending_members.recorded_members(inventory)
    uids = {member.ref: uid for uid, member in recorded.items()}
    for uid, location in selection.locate_members(groups).items():
        uids[location.member.ref] = uid
    uids |= {
        ref: uid for uid, ref in selection.unlisted_members(groups).items()
    }
    last = inventory.healing
    if last and not last.all_members and inventory.phase is Phase.HEALING:
        uids |= {member.ref: member.uid for member in last.members}
    return {
        uids[
            resolve_object.resolve_object(
                text,
                uids,
                inventory.namespace,
                lambda kind: cluster.resource(kind).plural,
            )
        ]
        for text in args.members
    }
