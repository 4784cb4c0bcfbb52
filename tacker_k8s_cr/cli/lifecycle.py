"""The operations of an instance's life as commands.

They call what ``import tacker_k8s_cr`` offers to everybody, whose names are
brought in at their first use.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr.cli import arguments
from tacker_k8s_cr.cli import reading
from tacker_k8s_cr.cli.lines import Silent
from tacker_k8s_cr.cli.operating import Operating
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.report import Report

if TYPE_CHECKING:
    from tacker_k8s_cr.cluster.protocol import Cluster


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
        arguments.add_claims(parser)
        arguments.add_writing(parser)
        arguments.add_waiting(parser)

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: Silent,
    ) -> Report:
        package = reading.package(args, self.app.stdin)
        if args.level and package.vnfd is None:
            raise errors.RequestInvalid(
                f"--level {args.level}: the package has no VNFD, so no levels"
            )
        return k8s_cr.instantiate(
            cluster,
            args.name,
            package,
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
            **self.life(args, deadline),
            options=reading.ending(args, cluster.until(deadline)),
            listen=listen,
        )
