"""The commands ``instantiate`` and ``terminate``.

They call the public library, whose names are imported at their first use.
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
    """Instantiate a package; return when all of its objects are current.

    An instantiation that ended early is continued where it stopped. If the
    server rejects an object after the first write, the created objects are
    deleted again.
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
        package = inputs.load_package(args, self.app.stdin)
        if args.level and package.vnfd is None:
            raise errors.RequestInvalid(
                f"--level {args.level}: the package has no VNFD, so no levels"
            )
        return k8s_cr.instantiate(
            self.request(
                args,
                cluster,
                deadline,
                options=inputs.apply_options(
                    args, cluster.with_deadline(deadline)
                ),
                on_progress=listen,
            ),
            package,
            level=args.level,
            vdu_mapping=dict(args.vdu_mapping or ()),
            policy=inputs.read_policy(args) or k8s_cr.Policy(),
        )


class Terminate(InstanceCommand):
    """Delete the objects of an instance, and wait until they are deleted.

    Objects that a manifest or the policy retains, and those that other
    instances use, are not deleted. If foreign objects would be deleted with a
    definition or a namespace of the instance, nothing is deleted.
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
