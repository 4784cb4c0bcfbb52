"""The command ``scale``."""

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
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Report

if TYPE_CHECKING:
    from tacker_k8s_cr.kube.protocol import Cluster
    from tacker_k8s_cr.plan.inventory import Inventory


class Scale(InstanceCommand):
    """Set the replica count of an object, or the level of a scaling aspect.

    Values are absolute, except --number-of-steps: a repeated command has no
    further effect.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "object",
            metavar="KIND/NAME",
            nargs="?",
            help="an object of the instance, such as Deployment/web or "
            "machinedeployment.cluster.x-k8s.io/workers; one of several in "
            "different namespaces as KIND/NAMESPACE/NAME; a replica count in "
            "a Cluster's topology as Cluster/a:machineDeployments.md-0 or "
            "Cluster/a:controlPlane",
        )

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: NullProgress,
    ) -> Report:
        return k8s_cr.scale(
            self.request(
                args,
                cluster,
                deadline,
                options=inputs.operation_options(args),
                on_progress=listen,
            ),
            self._targets(args, cluster.with_deadline(deadline)),
            aspect=args.aspect or "",
            number_of_steps=args.number_of_steps or 0,
            level=args.level,
            machines_to_delete=args.machines_to_delete,
        )

    def _targets(
        self, args: argparse.Namespace, cluster: Cluster
    ) -> dict[ObjectRef, int] | None:
        has_distance = (
            args.number_of_steps is not None or args.level is not None
        )
        if args.aspect and (args.object or args.replicas is not None):
            raise errors.RequestInvalid(
                "scale: expected either KIND/NAME with --replicas, or --aspect"
            )
        if args.aspect:
            if not has_distance:
                raise errors.RequestInvalid(
                    f"scale: --aspect {args.aspect} requires "
                    "--number-of-steps or --level"
                )
            return None
        if has_distance or args.object is None or args.replicas is None:
            raise errors.RequestInvalid(
                "scale: expected KIND/NAME and --replicas, or --aspect and "
                "--number-of-steps or --level"
            )
        inventory = inputs.read_inventory(args, cluster)
        return {_resolve_target(args, cluster, inventory): args.replicas}


def _resolve_target(
    args: argparse.Namespace, cluster: Cluster, inventory: Inventory
) -> ObjectRef:
    """Return the object of the instance, or the entry of its topology."""

    def plural(kind: GroupKind) -> str:
        return cluster.resource(kind).plural

    text, namespace = args.object, inventory.namespace
    try:
        return resolve_object.resolve_object(
            text, inventory.owned, namespace, plural
        )
    except errors.RequestInvalid:
        from tacker_k8s_cr.engine import topology_scaling

        places = dict(
            topology_scaling.topology_replica_fields(cluster, inventory)
        )
        by_created = {by_created: ref for ref, by_created in places.items()}
        if not places:
            raise
        candidates = (*inventory.owned, *places, *by_created)
        ref = resolve_object.resolve_object(
            text, set(candidates), namespace, plural
        )
        return by_created.get(ref, ref)
