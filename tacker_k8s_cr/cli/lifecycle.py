"""The operations of an instance's life as commands.

They call what ``import tacker_k8s_cr`` offers to everybody, whose names are
brought in at their first use.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr.cli import arguments
from tacker_k8s_cr.cli import choosing
from tacker_k8s_cr.cli import foretelling
from tacker_k8s_cr.cli import reading
from tacker_k8s_cr.cli import showing
from tacker_k8s_cr.cli.lines import Silent
from tacker_k8s_cr.cli.operating import Operating
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.report import Report

if TYPE_CHECKING:
    from tacker_k8s_cr.cluster.protocol import Cluster
    from tacker_k8s_cr.inventory import Inventory


class Instantiate(Operating):
    """Bring a package to life; ends when all of it is current.

    An instance whose instantiation ended early is taken up where it
    stopped. If the server refuses an object half way, what was made is
    removed again.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        arguments.add_package(parser)
        parser.add_argument(
            "--level",
            metavar="LEVEL",
            default="",
            help="instantiation level of the package's VNFD; its default "
            "unless given",
        )
        arguments.add_policy(parser)
        arguments.add_writing(parser)
        arguments.add_waiting(parser)

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: Silent,
    ) -> Report:
        return k8s_cr.instantiate(
            cluster,
            args.name,
            k8s_cr.load(*args.paths),
            namespace=args.namespace or reading.DEFAULT,
            record_namespace=args.record_namespace,
            deadline=deadline,
            registry=self.registry,
            level=args.level,
            vdu_mapping=dict(args.vdu or ()),
            policy=reading.policy(args) or k8s_cr.Policy(),
            options=reading.options(args, cluster.until(deadline)),
            listen=listen,
        )


class Change(Operating):
    """Replace the package, then take away what the new one does not name.

    Custom resource definitions, namespaces, volume claims and Clusters are
    kept unless their manifest had the annotation "prune", or the policy
    names them. Numbers of replicas stay as they are. The policy stays
    unless another is given.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        arguments.add_package(parser)
        arguments.add_policy(parser)
        arguments.add_writing(parser)
        arguments.add_changing(parser)
        arguments.add_waiting(parser)
        arguments.add_losing(parser)

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: Silent,
    ) -> Report:
        return k8s_cr.change(
            cluster,
            args.name,
            k8s_cr.load(*args.paths),
            namespace=args.namespace,
            record_namespace=args.record_namespace,
            deadline=deadline,
            registry=self.registry,
            vdu_mapping=dict(args.vdu or ()),
            policy=reading.policy(args),
            options=reading.options(args, cluster.until(deadline)),
            listen=listen,
            foresee=foretelling.warning(
                self.app.stderr, self.app.options.verbose_level
            ),
        )


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
            namespace=args.namespace,
            record_namespace=args.record_namespace,
            deadline=deadline,
            registry=self.registry,
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


class Status(Operating):
    """Show how every object of an instance is now; writes nothing.

    On a terminal a tree by kind, unless a format or columns are named.
    """

    timeout = "1m"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        self._usual = parser.get_default("formatter")
        parser.set_defaults(formatter=None)
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        self._as_tree = (
            parsed_args.formatter is None
            and not parsed_args.columns
            and showing.on_terminal(self.app.stdout, os.environ)
        )
        if parsed_args.formatter is None:
            parsed_args.formatter = self._usual
        return super().run(parsed_args)

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: Silent,
    ) -> Report:
        return k8s_cr.status(
            cluster,
            args.name,
            namespace=args.namespace,
            record_namespace=args.record_namespace,
            deadline=deadline,
            registry=self.registry,
        )

    def show(self, args: argparse.Namespace, report: Report) -> None:
        if not self._as_tree:
            super().show(args, report)
            return
        # It takes a while to import, and is used for people only.
        from tacker_k8s_cr.cli.live import show_tree

        show_tree(report, self.app.stdout)


class Terminate(Operating):
    """Remove all that an instance made, and wait until it is gone.

    What its manifests or its policy keep stays, as does what other
    instances use. Refuses, before anything is deleted, if objects of others
    would go with a definition or a namespace of the instance.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        arguments.add_ending(parser)
        arguments.add_losing(parser)

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: Silent,
    ) -> Report:
        return k8s_cr.terminate(
            cluster,
            args.name,
            namespace=args.namespace,
            record_namespace=args.record_namespace,
            deadline=deadline,
            registry=self.registry,
            options=reading.ending(args, cluster.until(deadline)),
            listen=listen,
        )
