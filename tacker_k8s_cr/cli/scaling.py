"""Set numbers of replicas, as a command."""

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
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.report import Report

if TYPE_CHECKING:
    from tacker_k8s_cr.cluster.protocol import Cluster
    from tacker_k8s_cr.inventory import Inventory


class Scale(Operating):
    """Set the number of replicas of an object, or the level of an aspect.

    Numbers are absolute, except --steps: doing it twice is doing it once.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "object",
            metavar="KIND/OBJECT",
            nargs="?",
            help="an object of the instance, such as Deployment/web or "
            "machinedeployment.cluster.x-k8s.io/workers; one of several in "
            "different namespaces as KIND/NAMESPACE/OBJECT; a number in a "
            "Cluster's topology as Cluster/a:machineDeployments.md-0 or "
            "Cluster/a:controlPlane",
        )
        parser.add_argument(
            "--replicas",
            metavar="N",
            type=arguments.count,
            help="how many there shall be",
        )
        parser.add_argument(
            "--aspect", metavar="ASPECT", help="of the package's VNFD"
        )
        far = parser.add_mutually_exclusive_group()
        far.add_argument(
            "--steps",
            metavar="N",
            type=int,
            help="how many steps out; in, where N is negative",
        )
        far.add_argument(
            "--to-level",
            metavar="L",
            type=arguments.count,
            help="the level where to",
        )
        parser.add_argument(
            "--leaving",
            metavar="MACHINE",
            action="append",
            default=[],
            help="the name or UID of a Machine that is to go when a number "
            "falls; may be given several times; which others go is for "
            "their controllers to say",
        )
        parser.add_argument(
            "--autoscaled",
            choices=("refuse", "move"),
            default="refuse",
            help="with what an autoscaler keeps the number of: refuse, or "
            "move its bounds so that there are so many at least; the "
            "object's annotation wins; %(default)s unless given",
        )
        arguments.add_waiting(parser)

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: Silent,
    ) -> Report:
        return k8s_cr.scale(
            cluster,
            args.name,
            self._targets(args, cluster.until(deadline)),
            aspect=args.aspect or "",
            steps=args.steps or 0,
            level=args.to_level,
            leaving=args.leaving,
            **self.life(args, deadline),
            options=k8s_cr.Options(
                dwell=args.blocked_after,
                on_failed=args.on_failed,
                autoscaled=args.autoscaled,
            ),
            listen=listen,
        )

    def _targets(
        self, args: argparse.Namespace, cluster: Cluster
    ) -> dict[ObjectRef, int] | None:
        far = args.steps is not None or args.to_level is not None
        if args.aspect and (args.object or args.replicas is not None):
            raise errors.RequestInvalid(
                "scale: either KIND/OBJECT with --replicas, or --aspect"
            )
        if args.aspect:
            if not far:
                raise errors.RequestInvalid(
                    f"scale: how far is not said: --aspect {args.aspect} "
                    "needs --steps or --to-level"
                )
            return None
        if far or args.object is None or args.replicas is None:
            raise errors.RequestInvalid(
                "scale: it takes KIND/OBJECT and --replicas, or --aspect and "
                "--steps or --to-level"
            )
        inventory = reading.inventory(args, cluster)
        return {_meant(args, cluster, inventory): args.replicas}


def _meant(
    args: argparse.Namespace, cluster: Cluster, inventory: Inventory
) -> ObjectRef:
    """The object of the instance, or what a topology of its made."""

    def plural(kind: GroupKind) -> str:
        return cluster.resource(kind).plural

    text, namespace = args.object, inventory.namespace
    try:
        return choosing.chosen(text, inventory.owned, namespace, plural)
    except errors.RequestInvalid:
        from tacker_k8s_cr.applying import routes

        places = dict(routes.places(cluster, inventory))
        made = {made: ref for ref, made in places.items()}
        if not places:
            raise
        among = (*inventory.owned, *places, *made)
        ref = choosing.chosen(text, set(among), namespace, plural)
        return made.get(ref, ref)
