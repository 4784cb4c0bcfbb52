"""The command ``check``: check whether Tacker loads this driver."""

from __future__ import annotations

import argparse
from typing import Any

from tacker_k8s_cr.cli import exit_codes
from tacker_k8s_cr.cli import host
from tacker_k8s_cr.cli import listing
from tacker_k8s_cr.model import errors

UNEXPECTED = 255
"""The exit code of an unexpected error, as of OpenStack's upgrade checks."""


class Check(listing.Listing):
    """Check whether Tacker in this environment loads the driver.

    Nothing is changed. Run it in the environment of tacker-conductor, as
    its user, before the services are restarted. Exit codes, as of OpenStack's
    upgrade checks: 0 success, 1 at least one warning, 2 at least one
    failure, 255 unexpected error.
    """

    columns = ("Level", "Subject", "Finding")

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--config-file",
            metavar="FILE",
            action="append",
            default=[],
            help="configuration file of Tacker; repeatable; the last one has "
            "precedence [the default location of Tacker]",
        )
        parser.add_argument(
            "--no-database",
            action="store_true",
            help="skip the check of Tacker's database for operations in "
            "FAILED_TEMP",
        )
        parser.add_argument(
            "--vims",
            action="store_true",
            help="check every VIM of Kubernetes with its credential: whether "
            "it can be reached, and the record of an instance be written; "
            "requires Tacker's key manager",
        )
        parser.add_argument(
            "--print-fix",
            action="store_true",
            help="print the lines to change in the configuration file, and "
            "nothing else",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        checks = host.load("check")
        self._checks = checks(
            parsed_args.config_file,
            database=not parsed_args.no_database,
            vims=parsed_args.vims,
        )
        return self.all_columns, self._checks.rows()

    def produce_output(self, parsed_args: Any, names: Any, data: Any) -> None:
        if parsed_args.print_fix:
            for line in self._checks.fix_lines():
                self.app.stdout.write(f"{line}\n")
        else:
            super().produce_output(parsed_args, names, data)

    def run(self, parsed_args: argparse.Namespace) -> int:
        try:
            super().run(parsed_args)
        except errors.Error as error:
            self.app.stderr.write(f"{error}\n")
            return UNEXPECTED
        except Exception as error:
            if self.app.options.debug:
                raise
            message = exit_codes.internal_error(error).message
            self.app.stderr.write(f"{message}\n")
            return UNEXPECTED
        return int(self._checks.code)
