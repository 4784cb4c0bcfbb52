"""What a change of package would do, as a command and before the change."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.cli import arguments
from tacker_k8s_cr.cli import reading
from tacker_k8s_cr.cli.lines import Silent
from tacker_k8s_cr.cli.operating import Operating
from tacker_k8s_cr.deadline import Deadline

if TYPE_CHECKING:
    from tacker_k8s_cr.cluster.protocol import Cluster
    from tacker_k8s_cr.planning.forecast import Forecast
    from tacker_k8s_cr.planning.forecast import Row


class Foretell(Operating):
    """Show what a change of package would do; writes nothing.

    Of each object which fields change, whose machines are replaced and why,
    what goes, what stays, and what no rollback brings back. It takes the
    arguments of the change, and refuses what that would refuse.
    """

    timeout = "5m"
    columns = ("Kind", "Namespace", "Name", "Forecast", "Details")

    @property
    def operation(self) -> str:
        return "forecast"

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
    ) -> Forecast:
        return k8s_cr.forecast(
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
        )

    def cells(self, report: Forecast) -> list[Sequence[Any]]:
        return list(map(_cells, report.rows))

    def counted(self, report: Forecast) -> str:
        counted: dict[str, int] = {}
        for row in report.rows:
            name = row.fate.value
            counted[name] = counted.get(name, 0) + 1
        said = ", ".join(f"{name} {n}" for name, n in counted.items())
        return f"objects: {said or 'none'}"


def _cells(row: Row) -> Sequence[Any]:
    return (
        str(row.ref.group_kind),
        row.ref.namespace,
        row.ref.name,
        row.fate.value,
        "\n".join(row.lines),
    )


def warning(stream: TextIO, verbosity: int) -> Callable[[Forecast], None]:
    """Tells, before a change acts, what is not to come as a surprise."""

    def told(forecast: Forecast) -> None:
        if verbosity:
            for line in forecast.warnings:
                stream.write(f"{line}\n")

    return told
