"""The operations of an instance's life as commands.

They call what ``import tacker_k8s_cr`` offers to everybody, whose names are
brought in at their first use.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.cli import arguments
from tacker_k8s_cr.cli import inputs
from tacker_k8s_cr.cli.instance_command import InstanceCommand
from tacker_k8s_cr.cli.plain_progress import NullProgress
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.report import Report

if TYPE_CHECKING:
    from tacker_k8s_cr.kube.protocol import Cluster


class Instantiate(InstanceCommand):
    """Bring a package to life; ends when all of it is current.

    An instance whose instantiation ended early is taken up where it
    stopped. If the server refuses an object half way, what was made is
    removed again.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        arguments.add_package(parser)

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: NullProgress,
    ) -> Report:
        package = inputs.package(args, self.app.stdin)
        if args.level and package.vnfd is None:
            raise errors.RequestInvalid(
                f"--level {args.level}: the package has no VNFD, so no levels"
            )
        return k8s_cr.instantiate(
            self.request(
                args,
                cluster,
                deadline,
                options=inputs.options(args, cluster.with_deadline(deadline)),
                on_progress=listen,
            ),
            package,
            level=args.level,
            vdu_mapping=dict(args.vdu_mapping or ()),
            policy=inputs.policy(args) or k8s_cr.Policy(),
        )


class Terminate(InstanceCommand):
    """Remove all that an instance made, and wait until it is gone.

    What its manifests or its policy keep stays, as does what other
    instances use. Refuses, before anything is deleted, if objects of others
    would go with a definition or a namespace of the instance.
    """

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: NullProgress,
    ) -> Report:
        return k8s_cr.terminate(
            self.request(
                args,
                cluster,
                deadline,
                options=inputs.termination_options(
                    args, cluster.with_deadline(deadline)
                ),
                on_progress=listen,
            )
        )
