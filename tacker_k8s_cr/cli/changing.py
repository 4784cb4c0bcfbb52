"""Put another package in the place of one, or see what that would do."""

from __future__ import annotations

import argparse
import collections
from collections.abc import Callable
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.cli import arguments
from tacker_k8s_cr.cli import reading
from tacker_k8s_cr.cli.lines import Silent
from tacker_k8s_cr.cli.operating import Operating
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.report import Report
from tacker_k8s_cr.screen import listing

if TYPE_CHECKING:
    from tacker_k8s_cr.cluster.protocol import Cluster
    from tacker_k8s_cr.planning.forecast import Forecast
    from tacker_k8s_cr.planning.forecast import Row


class Changing(Operating):
    """What a change and its forecast have in common."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        arguments.add_package(parser)
        arguments.add_policy(parser)
        arguments.add_writing(parser)
        arguments.add_changing(parser)
        arguments.add_waiting(parser)
        arguments.add_losing(parser)

    def package(
        self, args: argparse.Namespace, cluster: Cluster, deadline: Deadline
    ) -> dict[str, Any]:
        """The keywords of both: the new package, and how it is meant."""
        return {
            "package": reading.package(args, self.app.stdin),
            "vdu_mapping": dict(args.vdu or ()),
            "policy": reading.policy(args),
            "options": reading.options(args, cluster.until(deadline)),
            **self.life(args, deadline),
        }


class Change(Changing):
    """Replace the package, then take away what the new one does not name.

    Custom resource definitions, namespaces, volume claims and Clusters are
    kept unless their manifest had the annotation "prune", or the policy
    names them. Numbers of replicas stay as they are. The policy stays
    unless another is given.
    """

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
            **self.package(args, cluster, deadline),
            listen=listen,
            foresee=_warning(self.app.stderr, self.app.options.verbose_level),
        )


class Foretell(Changing):
    """Show what a change of package would do; writes nothing.

    Of each object which fields change, whose machines are replaced and why,
    what goes, what stays, and what no rollback brings back. It takes the
    arguments of the change, and refuses what that would refuse.
    """

    timeout = "5m"
    columns = ("Kind", "Namespace", "Name", "Forecast", "Details")
    further_columns = ()

    @property
    def operation(self) -> str:
        return "forecast"

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: Silent,
    ) -> Forecast:
        return k8s_cr.forecast(
            cluster,
            args.name,
            **self.package(args, cluster, deadline),
        )

    def cells(self, report: Forecast) -> list[Sequence[Any]]:
        kinds = listing.kinds(row.ref for row in report.rows)
        rows = sorted(report.rows, key=lambda row: listing.order(row.ref))
        return [_cells(row, kinds[row.ref.group_kind]) for row in rows]

    def counted(self, report: Forecast) -> str:
        counted = collections.Counter(row.fate.value for row in report.rows)
        said = ", ".join(f"{name} {n}" for name, n in counted.items())
        return f"objects: {said or 'none'}"


def _cells(row: Row, kind: listing.Kind) -> Sequence[Any]:
    return (
        kind,
        row.ref.namespace,
        row.ref.name,
        row.fate.value,
        "\n".join(row.lines),
    )


def _warning(stream: TextIO, verbosity: int) -> Callable[[Forecast], None]:
    """Tells, before a change acts, what is not to come as a surprise."""

    def told(forecast: Forecast) -> None:
        if verbosity:
            for line in forecast.warnings:
                stream.write(f"{line}\n")

    return told
