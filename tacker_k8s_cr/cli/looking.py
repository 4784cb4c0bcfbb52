"""Compare an instance with its inventory, as a command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.cli import outcome
from tacker_k8s_cr.cli.lines import Silent
from tacker_k8s_cr.cli.operating import Operating
from tacker_k8s_cr.deadline import Deadline

if TYPE_CHECKING:
    from tacker_k8s_cr.cluster.protocol import Cluster
    from tacker_k8s_cr.planning.drifted import Drifted
    from tacker_k8s_cr.planning.drifted import Drifts


class Drift(Operating):
    """Show what has changed of an instance behind its back; writes nothing.

    It ends with 5 if anything is missing, is another object by now, or
    differs from its manifest. "heal --all" takes that back.
    """

    timeout = "5m"
    columns = ("Kind", "Namespace", "Name", "Drift", "Details")

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
            namespace=args.namespace,
            record_namespace=args.record_namespace,
            deadline=deadline,
            registry=self.registry,
        )
        return found

    def exit_code(self, report: Drifts) -> int:
        return outcome.Exit.DRIFTED if report.rows else outcome.Exit.DONE

    def cells(self, report: Drifts) -> list[Sequence[Any]]:
        return list(map(_cells, report.rows))

    def counted(self, report: Drifts) -> str:
        return f"{len(report.rows)} of {report.looked} object(s) drifted"


def _cells(row: Drifted) -> Sequence[Any]:
    details = [row.reason] if row.reason else []
    return (
        str(row.ref.group_kind),
        row.ref.namespace,
        row.ref.name,
        ", ".join(way.value for way in row.ways),
        "\n".join([*details, *map(str, row.differences)]),
    )
