"""The commands ``status`` and ``drift``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import os
from typing import TYPE_CHECKING, Any

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.cli import display
from tacker_k8s_cr.cli import exit_codes
from tacker_k8s_cr.cli import listing
from tacker_k8s_cr.cli.instance_command import InstanceCommand
from tacker_k8s_cr.cli.plain_progress import NullProgress
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.report import Report

if TYPE_CHECKING:
    from tacker_k8s_cr.kube.protocol import Cluster
    from tacker_k8s_cr.plan.drift import DriftReport
    from tacker_k8s_cr.plan.drift import DriftRow


class Status(InstanceCommand):
    """Show the state of every object of an instance; write nothing.

    On a terminal the objects are shown as a tree by kind, unless a format,
    columns or --wide are given.
    """

    writes = False
    timeout = "1m"
    further_columns = ("UID", "Notes")
    _as_tree = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        self._usual = parser.get_default("formatter")
        parser.set_defaults(formatter=None)
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        self._as_tree = (
            parsed_args.formatter is None
            and not (parsed_args.columns or parsed_args.wide)
            and display.is_on_terminal(self.app.stdout, os.environ)
        )
        if parsed_args.formatter is None:
            parsed_args.formatter = self._usual
        return super().run(parsed_args)

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: NullProgress,
    ) -> Report:
        return k8s_cr.status(
            self.request(
                args,
                cluster,
                deadline,
            )
        )

    def show(self, args: argparse.Namespace, report: Report) -> None:
        if not self._as_tree:
            super().show(args, report)
            return
        # Imported here: the import is slow, and only a terminal needs it.
        from tacker_k8s_cr.cli.tree import show_tree

        show_tree(report, self.app.stdout)


class Drift(InstanceCommand):
    """Show what other clients have changed in an instance; write nothing.

    The exit code is 5 if an object is missing, was replaced, or differs from
    its manifest. "heal --all" reverts the drift.
    """

    writes = False
    timeout = "5m"
    columns = ("Kind", "Namespace", "Name", "Drift", "Details")
    further_columns = ()

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: NullProgress,
    ) -> DriftReport:
        found: DriftReport = k8s_cr.drift(
            self.request(
                args,
                cluster,
                deadline,
            )
        )
        return found

    def exit_code(self, report: DriftReport) -> int:
        return (
            exit_codes.Exit.DRIFTED if report.objects else exit_codes.Exit.DONE
        )

    def cells(self, report: DriftReport) -> list[Sequence[Any]]:
        kinds = listing.kinds(row.ref for row in report.objects)
        rows = sorted(report.objects, key=lambda row: listing.order(row.ref))
        return [_cells(row, kinds[row.ref.group_kind]) for row in rows]

    def summary(self, report: DriftReport) -> str:
        return f"{len(report.objects)} of {report.compared} object(s) drifted"


def _cells(row: DriftRow, kind: listing.Kind) -> Sequence[Any]:
    details = [row.reason] if row.reason else []
    return (
        kind,
        row.ref.namespace,
        row.ref.name,
        ", ".join(difference.value for difference in row.drifts),
        "\n".join([*details, *map(str, row.differences)]),
    )
