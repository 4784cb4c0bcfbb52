"""The base of commands on an instance: run them, and show the result."""

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

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.cli import arguments
from tacker_k8s_cr.cli import display
from tacker_k8s_cr.cli import exit_codes
from tacker_k8s_cr.cli import listing
from tacker_k8s_cr.cli import signals
from tacker_k8s_cr.cli.exit_codes import ErrorResult
from tacker_k8s_cr.cli.plain_progress import NullProgress
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import ObjectResult
from tacker_k8s_cr.model.report import Report

if TYPE_CHECKING:
    from tacker_k8s_cr.kinds.base import Registry
    from tacker_k8s_cr.kube.protocol import Cluster

LOG = logging.getLogger(__name__)

WHOLE = ("json", "yaml")
"""Formats with the whole report; the others have the rows of objects."""


class Result(Protocol):
    """The result of a command."""

    @property
    def instance(self) -> str: ...

    @property
    def seconds(self) -> float: ...

    @property
    def requests(self) -> int: ...

    def as_dict(self) -> Mapping[str, Any]: ...


class InstanceCommand(listing.Listing, metaclass=abc.ABCMeta):
    """A command on one instance.

    Its result is printed on standard output, all else on standard error.
    """

    writes = True
    """Whether the command may write; its errors then state what it wrote."""

    timeout = ""
    """The default of --timeout, if not that of the option table."""

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
    """The handlers of kinds, with those of plug-ins."""

    def get_epilog(self) -> str:
        """Return nothing: cliff would search all installed distributions."""
        return ""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        arguments.add_instance(parser)
        self.add_arguments(parser)
        arguments.add_options(
            parser, self.operation, {"timeout": self.timeout}
        )
        return parser

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the positional arguments of this command."""

    @property
    def operation(self) -> str:
        return type(self).__name__.lower()

    @abc.abstractmethod
    def operate(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        listen: NullProgress,
    ) -> Result:
        """Carry out the operation."""

    def request(
        self,
        args: argparse.Namespace,
        cluster: Cluster,
        deadline: Deadline,
        **how: Any,
    ) -> k8s_cr.Request:
        """Return the request of an operation.

        :param how: its options, and the listener for progress.
        """
        return k8s_cr.Request(
            cluster,
            args.name,
            deadline=deadline,
            namespace=args.namespace,
            record_namespace=args.record_namespace,
            registry=self.registry,
            **how,
        )

    # -- Running -------------------------------------------------------------

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Carry out the operation, print the result, return the exit code."""
        deadline = Deadline.after(parsed_args.timeout)
        listen = display.progress(
            f"{self.operation} {parsed_args.name}",
            deadline,
            self.app.stderr,
            os.environ,
            self.app.options.verbose_level,
        )
        try:
            self._check_columns(parsed_args)
            with signals.sigterm_as_interrupt(), listen:
                report = self._report(parsed_args, deadline, listen)
        except errors.Error as error:
            # Imported here: help does not need the package reader.
            from tacker_k8s_cr.cli import advice

            self._debug(error)
            error.in_operation = self.writes
            ended = exit_codes.of_error(
                error,
                deadline.expired,
                listen.last,
                deadline.now,
                advice.advice(error, parsed_args),
            )
            return self._failed(parsed_args, ended)
        except KeyboardInterrupt:
            ended = exit_codes.of_interrupt(
                self.operation, parsed_args.name, listen.last, deadline.now
            )
            return self._failed(parsed_args, ended)
        except Exception as error:  # noqa: BLE001  reported as a defect
            self._debug(error)
            return self._failed(parsed_args, exit_codes.internal_error(error))
        self._print_summary(report)
        self.show(parsed_args, report)
        return self.exit_code(report)

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Never called: cliff would lose the report and the exit code."""
        raise NotImplementedError

    def _report(
        self,
        args: argparse.Namespace,
        deadline: Deadline,
        listen: NullProgress,
    ) -> Result:
        # Imported here: all commands are imported for the list of them.
        from tacker_k8s_cr.kinds import plugins
        from tacker_k8s_cr.kube.first_answer import FirstAnswer

        self.registry = plugins.registry()
        cluster: Cluster = self.app.connect(
            args.kubeconfig,
            args.context,
            verify=not args.insecure,
            contact=FirstAnswer(listen.notify),
        )
        try:
            return self.operate(args, cluster, deadline, listen)
        finally:
            cluster.close()

    # -- Output --------------------------------------------------------------

    def exit_code(self, report: Any) -> int:
        """Return the exit code of a command that succeeded."""
        return exit_codes.Exit.DONE

    def cells(self, report: Any) -> list[Sequence[Any]]:
        """Return the rows of the table, with all columns."""
        kinds = listing.kinds(row.ref for row in report.objects)
        rows = sorted(report.objects, key=lambda row: listing.order(row.ref))
        values = [_values(row, kinds[row.ref.group_kind]) for row in rows]
        return [[row[name] for name in self.all_columns] for row in values]

    def summary(self, report: Any) -> str:
        """Return the count of each action, for the last line."""
        counted = collections.Counter(
            row.action.value for row in report.objects
        )
        counts = ", ".join(f"{n} {name}" for name, n in counted.items())
        return f"objects: {counts or 'none'}"

    def show(self, args: argparse.Namespace, report: Any) -> None:
        """Print the report on standard output."""
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

    def _failed(self, args: argparse.Namespace, ended: ErrorResult) -> int:
        """Print the error, also as JSON or YAML if that is the format."""
        self.app.stderr.write(f"{ended.message}\n")
        if args.formatter in WHOLE:
            self._emit(args, ended.as_dict())
        return ended.exit

    def _print_summary(self, report: Result) -> None:
        """Print warnings, and a line with the duration and the counts."""
        if self.app.options.verbose_level == 0:
            return
        if isinstance(report, Report):
            for warning in report.warnings:
                self.app.stderr.write(f"warning: {warning}\n")
        self.app.stderr.write(
            f"{self.operation} {report.instance}: done in "
            f"{report.seconds:.1f} s with {report.requests} requests; "
            f"{self.summary(report)}\n"
        )

    def _debug(self, error: Exception) -> None:
        if self.app.options.debug:
            trace = traceback.format_exception(error)
            self.app.stderr.write("".join(trace))

    def _check_columns(self, args: argparse.Namespace) -> None:
        """Raise RequestInvalid for an unknown column before the operation."""
        allowed = {_normal(name) for name in self.all_columns}
        wrong = [name for name in args.columns if _normal(name) not in allowed]
        if wrong:
            raise errors.RequestInvalid(
                f"no column {', '.join(wrong)}; there are "
                f"{', '.join(self.all_columns)}"
            )


def _normal(name: str) -> str:
    return name.lower().strip().replace(" ", "_")


def _values(row: ObjectResult, kind: listing.Kind) -> dict[str, Any]:
    """Return the cells of a row by the titles of their columns."""
    deleted = row.action is Action.DELETED
    reason = row.verdict.reason
    return {
        "Kind": kind,
        "Namespace": row.ref.namespace,
        "Name": row.ref.name,
        "Action": row.action.value,
        "State": "deleted" if deleted else row.verdict.state.value,
        "Reason": "" if deleted and reason == "deleted" else reason,
        "Seconds": round(row.seconds or 0.0, 1),
        "UID": row.uid,
        "Notes": "\n".join(row.notes),
    }
