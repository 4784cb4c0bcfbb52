"""Replace members of an instance, and take operations back, as commands."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr.cli import arguments
from tacker_k8s_cr.cli import choosing
from tacker_k8s_cr.cli import reading
from tacker_k8s_cr.cli.lines import Silent
from tacker_k8s_cr.cli.operating import Operating
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.report import Report

if TYPE_CHECKING:
    from tacker_k8s_cr.cluster.protocol import Cluster
    from tacker_k8s_cr.kinds.base import Registry


class Heal(Operating):
    """Replace pods or machines of an instance, and wait for the new ones.

    With --all the package is applied again first: what is missing is made,
    and what somebody changed is taken back. No other object is removed, a
    Cluster neither. To repeat a heal that ended early is to finish it.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "members",
            metavar="KIND/MEMBER",
            nargs="*",
            help="a pod or machine of the instance, such as Pod/web-1, in "
            "several namespaces as KIND/NAMESPACE/MEMBER",
        )
        parser.add_argument(
            "--all", action="store_true", help="all members of the instance"
        )
        parser.add_argument(
            "--grace-seconds",
            metavar="N",
            type=arguments.count,
            help="for pods that end gracefully; what each says itself unless "
            "given",
        )
        parser.add_argument(
            "--machines",
            choices=("delete", "remediate"),
            default="delete",
            help="delete machines of workload clusters, or mark them for a "
            "MachineHealthCheck; what the object that they work for says "
            "wins; %(default)s unless given",
        )
        arguments.add_resend(parser)
        arguments.add_waiting(parser)

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: Silent,
    ) -> Report:
        if args.all is bool(args.members):
            raise errors.RequestInvalid(
                "heal: it takes either members or --all"
            )
        return k8s_cr.heal(
            cluster,
            args.name,
            None
            if args.all
            else _uids(args, cluster.until(deadline), self.registry),
            **self.life(args, deadline),
            options=k8s_cr.Options(
                dwell=args.blocked_after,
                on_failed=args.on_failed,
                grace_seconds=args.grace_seconds,
                heal_machines=args.machines,
                resend=args.resend,
            ),
            listen=listen,
        )


class Rollback(Operating):
    """Take back the operation that ended early, or else the last change.

    Of an instantiation nothing is left; a scale gets the numbers from
    before; of a change of package what it made goes, and the former
    manifests are applied again. To repeat it does nothing more.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        arguments.add_losing(parser)
        arguments.add_resend(parser)
        arguments.add_waiting(parser)

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: Silent,
    ) -> Report:
        return k8s_cr.roll_back(
            cluster,
            args.name,
            **self.life(args, deadline),
            options=k8s_cr.Options(
                dwell=args.blocked_after,
                on_failed=args.on_failed,
                lose_others=args.lose_others,
                resend=args.resend,
            ),
            listen=listen,
        )


def _uids(
    args: argparse.Namespace, cluster: Cluster, registry: Registry
) -> set[str]:
    """The UIDs of the members that are named.

    One that a heal has replaced already may be named too, and one that
    the record alone tells of. A controller may give a new one the name of
    the old: as long as a heal of chosen ones is to be finished, who repeats
    the command means those.
    """
    from tacker_k8s_cr.healing import candidates
    from tacker_k8s_cr.healing import members
    from tacker_k8s_cr.healing import owing
    from tacker_k8s_cr.inventory import Phase

    inventory = reading.inventory(args, cluster)
    crews = members.of_instance(cluster, registry, inventory)
    known = owing.recorded(inventory)
    uids = {goer.ref: uid for uid, goer in known.items()}
    for uid, place in candidates.places(crews).items():
        uids[place.goer.ref] = uid
    uids |= {ref: uid for uid, ref in candidates.hidden(crews).items()}
    last = inventory.healing
    if last and not last.everything and inventory.phase is Phase.HEALING:
        uids |= {goer.ref: goer.uid for goer in last.goers}
    return {
        uids[
            choosing.chosen(
                text,
                uids,
                inventory.namespace,
                lambda kind: cluster.resource(kind).plural,
            )
        ]
        for text in args.members
    }
