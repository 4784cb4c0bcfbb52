"""The commands ``change`` and ``forecast``."""

from __future__ import annotations

import argparse
import collections
from collections.abc import Callable
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.cli import arguments
from tacker_k8s_cr.cli import inputs
from tacker_k8s_cr.cli import listing
from tacker_k8s_cr.cli.instance_command import InstanceCommand
from tacker_k8s_cr.cli.plain_progress import NullProgress
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.report import Report

if TYPE_CHECKING:
    from tacker_k8s_cr.kube.protocol import Cluster
    from tacker_k8s_cr.plan.forecast import Forecast
    from tacker_k8s_cr.plan.forecast import ForecastRow


class ChangeBase(InstanceCommand):
    """The arguments that a change and its forecast share."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        arguments.add_package(parser)

    def package_keywords(self, args: argparse.Namespace) -> dict[str, Any]:
        """Return the keywords of both: the package and its policy."""
        return {
            "package": inputs.load_package(args, self.app.stdin),
            "vdu_mapping": dict(args.vdu_mapping or ()),
            "policy": inputs.read_policy(args),
        }

    def change_request(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        **how: Any,
    ) -> k8s_cr.Request:
        options = inputs.apply_options(args, cluster.with_deadline(deadline))
        return self.request(args, cluster, deadline, options=options, **how)


class Change(ChangeBase):
    """Replace the package, and prune objects that the new one omits.

    CustomResourceDefinitions, namespaces, volume claims and Clusters are
    retained unless their manifest has the annotation "prune" or the policy
    names them. Replica counts do not change. The policy of the instance
    remains unless another is given.
    """

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: NullProgress,
    ) -> Report:
        return k8s_cr.change(
            self.change_request(args, cluster, deadline, on_progress=listen),
            **self.package_keywords(args),
            on_forecast=_warning_printer(
                self.app.stderr, self.app.options.verbose_level
            ),
        )


class ForecastChange(ChangeBase):
    """Show what a change of package would do; write nothing.

    It lists the fields that change in each object, the Machines that are
    replaced and why, the objects that are deleted or retained, and what no
    rollback restores. It accepts the arguments of the change, and rejects what
    the change would reject.
    """

    writes = False
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
        listen: NullProgress,
    ) -> Forecast:
        return k8s_cr.forecast(
            self.change_request(args, cluster, deadline),
            **self.package_keywords(args),
        )

    def cells(self, report: Forecast) -> list[Sequence[Any]]:
        kinds = listing.kinds(row.ref for row in report.objects)
        rows = sorted(report.objects, key=lambda row: listing.order(row.ref))
        return [_cells(row, kinds[row.ref.group_kind]) for row in rows]

    def summary(self, report: Forecast) -> str:
        counted = collections.Counter(
            row.action.value for row in report.objects
        )
        counts = ", ".join(f"{name} {n}" for name, n in counted.items())
        return f"objects: {counts or 'none'}"


def _cells(row: ForecastRow, kind: listing.Kind) -> Sequence[Any]:
    return (
        kind,
        row.ref.namespace,
        row.ref.name,
        row.action.value,
        "\n".join(row.lines),
    )


def _warning_printer(
    stream: TextIO, verbosity: int
) -> Callable[[Forecast], None]:
    """Return a listener that prints the warnings before a change."""

    def print_warnings(forecast: Forecast) -> None:
        if verbosity:
            for line in forecast.warnings:
                stream.write(f"{line}\n")

    return print_warnings
