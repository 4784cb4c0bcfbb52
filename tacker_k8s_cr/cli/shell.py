"""The program ``tacker-k8s-cr``: its options, its help and its log."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Sequence
import functools
import importlib.metadata
import inspect
import logging
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from cliff import app
from cliff import help as cliff_help

import tacker_k8s_cr
from tacker_k8s_cr.cli.commands import Commands
from tacker_k8s_cr.cli.commands import UnknownCommand
from tacker_k8s_cr.cli.exit_codes import Exit
from tacker_k8s_cr.cli.standard_error import StandardError

if TYPE_CHECKING:
    from tacker_k8s_cr.kube.protocol import Cluster

NAMESPACE = "tacker_k8s_cr.cli"
"""Entry points of commands; other distributions may add theirs."""

BROKEN_PIPE = 141
"""cliff's exit code when the reader of standard output has closed it."""

CODES = """\
Exit codes: 0 success; 2 rejected before anything was written; 3 failed \
after that; 4 the deadline passed; 5 drift was found; 130 interrupted; 1 a \
defect of this program.
"""


class Help(cliff_help.HelpCommand):  # type: ignore[misc]
    """Show the help of a command."""

    def get_epilog(self) -> str:
        """Return nothing: cliff would search all installed distributions."""
        return ""

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if not parsed_args.cmd:
            self.app.print_help()
            return 0
        try:
            # cliff would list commands with that prefix, and return 0 or 1.
            self.app.command_manager.find_command(parsed_args.cmd)
        except UnknownCommand as error:
            return refused(self.app.stderr, error)
        shown: int = super().take_action(parsed_args)
        return shown


def refused(stream: TextIO, error: UnknownCommand) -> int:
    """Print why there is no such command, and return the exit code."""
    stream.write(f"{error}\n")
    return Exit.REFUSED


def end_unused(parser: argparse.ArgumentParser, message: str) -> NoReturn:
    """End the program for arguments that a command does not accept."""
    parser.exit(
        Exit.REFUSED,
        f"{parser.prog}: {message}; see {parser.prog} --help\n",
    )


class Shell(app.App):  # type: ignore[misc]
    """The application; one for each run.

    :param connect: returns the cluster for the commands.
    """

    NAME = "tacker-k8s-cr"
    LOG = logging.getLogger(NAME)

    def __init__(
        self,
        connect: Callable[..., Cluster] | None = None,
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ):
        super().__init__(
            description="Run the life cycle operations of VNF packages with "
            "Kubernetes manifests.",
            version=importlib.metadata.version("tacker-k8s-cr"),
            command_manager=Commands(NAMESPACE),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr or StandardError(),
            deferred_help=True,
        )
        self.command_manager.add_command("help", Help)
        self._connect = connect

    @property
    def connect(self) -> Callable[..., Cluster]:
        return self._connect or tacker_k8s_cr.connect

    def build_option_parser(
        self, *args: Any, **kwargs: Any
    ) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser
        parser = super().build_option_parser(*args, **kwargs)
        parser.allow_abbrev = False
        return parser

    def prepare_to_run_command(self, cmd: Any) -> None:
        """Refuse abbreviated options of every command, including plug-ins.

        A script with abbreviations breaks when an option is added. The error
        is printed without the usage, which would hide it.
        """
        build = cmd.get_parser

        def strict(name: str) -> argparse.ArgumentParser:
            parser: argparse.ArgumentParser = build(name)
            parser.allow_abbrev = False
            parser.error = functools.partial(  # type: ignore[method-assign]
                end_unused, parser
            )
            return parser

        cmd.get_parser = strict

    def run_subcommand(self, argv: list[str]) -> int:
        """Run a command, or suggest one on standard error."""
        try:
            self.command_manager.find_command(argv)
        except UnknownCommand as error:
            return refused(self.stderr, error)
        code: int = super().run_subcommand(argv)
        return code

    def print_help_if_requested(self) -> None:
        """Print the help; cliff would search all installed distributions."""
        if self.options.deferred_help:
            self.print_help()
            raise cliff_help.HelpExit(0)

    def print_help(self) -> None:
        self.parser.prog = self.NAME
        out = self.stdout
        out.write(self.parser.format_help())
        out.write("\nCommands:\n")
        for name, entry_point in sorted(self.command_manager):
            description = inspect.getdoc(entry_point.load()) or ""
            line = description.partition("\n")[0].rstrip(".")
            out.write(f"  {name:<13} {line}\n")
        out.write(f"\n{CODES}")

    def interact(self) -> None:
        """Print the help if no command is given; there is no shell."""
        self.print_help()
        raise SystemExit(Exit.REFUSED)

    def configure_logging(self) -> None:
        """Log warnings to standard error; with -v also events."""
        levels = {0: logging.ERROR, 1: logging.WARNING, 2: logging.INFO}
        level = levels.get(self.options.verbose_level, logging.DEBUG)
        console = logging.StreamHandler(self.stderr)
        console.setLevel(level)
        console.setFormatter(logging.Formatter("%(message)s"))
        root = logging.getLogger()
        root.addHandler(console)
        if self.options.log_file:
            file = logging.FileHandler(self.options.log_file)
            file.setFormatter(logging.Formatter(self.LOG_FILE_MESSAGE_FORMAT))
            file.setLevel(min(level, logging.INFO))
            root.addHandler(file)
            level = min(level, logging.INFO)
        root.setLevel(level)
        # At DEBUG it logs bodies, which may contain Secrets.
        logging.getLogger("kubernetes").setLevel(logging.INFO)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program."""
    code: int = Shell().run(list(sys.argv[1:] if argv is None else argv))
    if code == BROKEN_PIPE:
        # Python flushes standard output at exit and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


if __name__ == "__main__":
    raise SystemExit(main())
