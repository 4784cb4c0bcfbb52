"""What the commands have in common: how they run, and tell what came of it."""

from __future__ import annotations

import abc
import argparse
import collections
from collections.abc import Mapping
from collections.abc import Sequence
import logging
import os
import traceback
from typing import TYPE_CHECKING, Any, Protocol

from tacker_k8s_cr import errors
from tacker_k8s_cr.cli import arguments
from tacker_k8s_cr.cli import interrupts
from tacker_k8s_cr.cli import outcome
from tacker_k8s_cr.cli import showing
from tacker_k8s_cr.cli.lines import Silent
from tacker_k8s_cr.cli.outcome import Outcome
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.report import Action
from tacker_k8s_cr.report import Report
from tacker_k8s_cr.report import Row
from tacker_k8s_cr.screen import listing

if TYPE_CHECKING:
    from tacker_k8s_cr.cluster.protocol import Cluster
    from tacker_k8s_cr.kinds.base import Registry

LOG = logging.getLogger(__name__)

WHOLE = ("json", "yaml")
"""Formats that give the whole report; the others give the objects' rows."""


class Shown(Protocol):
    """What comes of a command."""

    @property
    def instance(self) -> str: ...

    @property
    def seconds(self) -> float: ...

    @property
    def requests(self) -> int: ...

    def as_dict(self) -> Mapping[str, Any]: ...


class Operating(listing.Listing, metaclass=abc.ABCMeta):
    """A command on one instance.

    Its result goes to standard output, all else to standard error.
    """

    timeout = arguments.TIMEOUT
    columns: tuple[str, ...] = (
        "Kind",
        "Namespace",
        "Name",
        "Action",
        "State",
        "Reason",
    )
    further_columns: tuple[str, ...] = ("Seconds", "UID", "Notes")

    need_sort_by_cliff = True

    registry: Registry
    """What is known of kinds, with what others have installed."""

    def get_epilog(self) -> str:
        """None. cliff's would look through all installed distributions."""
        return ""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        arguments.add_instance(parser)
        self.add_arguments(parser)
        arguments.add_cluster(parser, self.timeout)
        return parser

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add what only this command has."""

    @property
    def operation(self) -> str:
        return type(self).__name__.lower()

    @abc.abstractmethod
    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: Silent,
    ) -> Shown:
        """Carry the operation out."""

    def life(
        self, args: argparse.Namespace, deadline: Deadline
    ) -> dict[str, Any]:
        """The keywords that all operations have: where, and how long."""
        return {
            "namespace": args.namespace,
            "record_namespace": args.record_namespace,
            "deadline": deadline,
            "registry": self.registry,
        }

    # -- Running -------------------------------------------------------------

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Operate, tell what came of it, and answer with the exit code."""
        deadline = Deadline.after(parsed_args.timeout)
        listen = showing.progress(
            f"{self.operation} {parsed_args.name}",
            deadline,
            self.app.stderr,
            os.environ,
            self.app.options.verbose_level,
        )
        try:
            self._check_columns(parsed_args)
            with interrupts.raised(), listen:
                report = self._report(parsed_args, deadline, listen)
        except errors.Error as error:
            # Imported here: help does not need the package reader.
            from tacker_k8s_cr.cli import advice

            self._debug(error)
            ended = outcome.of_error(
                error,
                deadline.passed,
                listen.last,
                deadline.now,
                advice.advice(error, parsed_args),
            )
            return self._failed(parsed_args, ended)
        except KeyboardInterrupt:
            ended = outcome.interrupted(
                self.operation, parsed_args.name, listen.last, deadline.now
            )
            return self._failed(parsed_args, ended)
        except Exception as error:  # noqa: BLE001  a defect; told as one
            self._debug(error)
            return self._failed(parsed_args, outcome.defect(error))
        self._tell(report)
        self.show(parsed_args, report)
        return self.exit_code(report)

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Never called: cliff's own way loses the report and the exit code."""
        raise NotImplementedError

    def _report(
        self, args: argparse.Namespace, deadline: Deadline, listen: Silent
    ) -> Shown:
        # Imported here: all commands are imported for the list of them.
        from tacker_k8s_cr import plugins
        from tacker_k8s_cr.cluster.contact import Contact

        self.registry = plugins.registry()
        cluster: Cluster = self.app.connect(
            args.kubeconfig,
            args.context,
            verify=not args.insecure,
            contact=Contact(listen.notify),
        )
        try:
            return self.operate(args, cluster, deadline, listen)
        finally:
            cluster.close()

    # -- Telling -------------------------------------------------------------

    def exit_code(self, report: Any) -> int:
        """How a command ends that did what it is for."""
        return outcome.Exit.DONE

    def cells(self, report: Any) -> list[Sequence[Any]]:
        """The rows of the table, with all columns."""
        kinds = listing.kinds(row.ref for row in report.rows)
        rows = sorted(report.rows, key=lambda row: listing.order(row.ref))
        values = [_values(row, kinds[row.ref.group_kind]) for row in rows]
        return [[row[name] for name in self.all_columns] for row in values]

    def counted(self, report: Any) -> str:
        """What there is of what, for the line that people read."""
        counted = collections.Counter(row.action.value for row in report.rows)
        said = ", ".join(f"{n} {name}" for name, n in counted.items())
        return f"objects: {said or 'none'}"

    def show(self, args: argparse.Namespace, report: Any) -> None:
        """The report on standard output."""
        if args.formatter in WHOLE and not args.columns:
            self._emit(args, report.as_dict())
            return
        self.formatter = self._formatter_plugins[args.formatter].obj
        self.produce_output(args, self.all_columns, self.cells(report))

    def _emit(self, args: argparse.Namespace, value: Any) -> None:
        formatter = self._formatter_plugins[args.formatter].obj
        formatter.emit_one(
            tuple(value), tuple(value.values()), self.app.stdout, args
        )

    def _failed(self, args: argparse.Namespace, ended: Outcome) -> int:
        """Say why, and where JSON is expected give it too."""
        self.app.stderr.write(f"{ended.message}\n")
        if args.formatter in WHOLE:
            self._emit(args, ended.as_dict())
        return ended.exit

    def _tell(self, report: Shown) -> None:
        """Warnings, and one line: how many objects, how long."""
        if self.app.options.verbose_level == 0:
            return
        if isinstance(report, Report):
            for warning in report.warnings:
                self.app.stderr.write(f"warning: {warning}\n")
        self.app.stderr.write(
            f"{self.operation} {report.instance}: done in "
            f"{report.seconds:.1f} s with {report.requests} requests; "
            f"{self.counted(report)}\n"
        )

    def _debug(self, error: Exception) -> None:
        if self.app.options.debug:
            trace = traceback.format_exception(error)
            self.app.stderr.write("".join(trace))

    def _check_columns(self, args: argparse.Namespace) -> None:
        """A wrong name of a column must not come up when all is done."""
        known = {_normal(name) for name in self.all_columns}
        wrong = [name for name in args.columns if _normal(name) not in known]
        if wrong:
            raise errors.RequestInvalid(
                f"no column {', '.join(wrong)}; there are "
                f"{', '.join(self.all_columns)}"
            )


def _normal(name: str) -> str:
    return name.lower().strip().replace(" ", "_")


def _values(row: Row, kind: listing.Kind) -> dict[str, Any]:
    """The cells of a row by the titles of their columns."""
    deleted = row.action is Action.DELETED
    reason = row.verdict.reason
    return {
        "Kind": kind,
        "Namespace": row.ref.namespace,
        "Name": row.ref.name,
        "Action": row.action.value,
        "State": "gone" if deleted else row.verdict.state.value,
        "Reason": "" if deleted and reason == "gone" else reason,
        "Seconds": round(row.seconds or 0.0, 1),
        "UID": row.uid,
        "Notes": "\n".join(row.notes),
    }
