"""See how an instance is, and what has changed of it, as commands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import os
from typing import TYPE_CHECKING, Any

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.cli import outcome
from tacker_k8s_cr.cli import showing
from tacker_k8s_cr.cli.lines import Silent
from tacker_k8s_cr.cli.operating import Operating
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.report import Report
from tacker_k8s_cr.screen import listing

if TYPE_CHECKING:
    from tacker_k8s_cr.cluster.protocol import Cluster
    from tacker_k8s_cr.planning.drifted import Drifted
    from tacker_k8s_cr.planning.drifted import Drifts


class Status(Operating):
    """Show how every object of an instance is now; writes nothing.

    On a terminal a tree by kind, unless a format, columns or --wide are
    named.
    """

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
            **self.life(args, deadline),
        )

    def show(self, args: argparse.Namespace, report: Report) -> None:
        if not self._as_tree:
            super().show(args, report)
            return
        # It takes a while to import, and is used for people only.
        from tacker_k8s_cr.cli.tree import show_tree

        show_tree(report, self.app.stdout)


class Drift(Operating):
    """Show what has changed of an instance behind its back; writes nothing.

    It ends with 5 if anything is missing, is another object by now, or
    differs from its manifest. "heal --all" takes that back.
    """

    timeout = "5m"
    columns = ("Kind", "Namespace", "Name", "Drift", "Details")
    further_columns = ()

    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: Silent,
    ) -> Drifts:
        found: Drifts = k8s_cr.drift(
            cluster,
            args.name,
            **self.life(args, deadline),
        )
        return found

    def exit_code(self, report: Drifts) -> int:
        return outcome.Exit.DRIFTED if report.rows else outcome.Exit.DONE

    def cells(self, report: Drifts) -> list[Sequence[Any]]:
        kinds = listing.kinds(row.ref for row in report.rows)
        rows = sorted(report.rows, key=lambda row: listing.order(row.ref))
        return [_cells(row, kinds[row.ref.group_kind]) for row in rows]

    def counted(self, report: Drifts) -> str:
        return f"{len(report.rows)} of {report.looked} object(s) drifted"


def _cells(row: Drifted, kind: listing.Kind) -> Sequence[Any]:
    details = [row.reason] if row.reason else []
    return (
        kind,
        row.ref.namespace,
        row.ref.name,
        ", ".join(way.value for way in row.ways),
        "\n".join([*details, *map(str, row.differences)]),
    )
