"""The command ``adopt``: adopt instances of Tacker's own driver."""

from __future__ import annotations

import argparse
from typing import Any

from tacker_k8s_cr.cli import host
from tacker_k8s_cr.cli import listing
from tacker_k8s_cr.cli.exit_codes import Exit
from tacker_k8s_cr.model import errors


class Adopt(listing.Listing):
    """Adopt VNF instances of Tacker's own Kubernetes driver.

    The objects in the cluster stay as they are; no Pod is restarted. From then
    on all operations of these instances use this driver. Run it in the
    environment of tacker-conductor, as its user. The conductor may run.
    """

    columns = ("API", "Instance", "Name", "Result")

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "instances",
            metavar="VNF-INSTANCE-ID",
            nargs="*",
            help="ids of VNF instances; without any, list those that can be "
            "adopted",
        )
        parser.add_argument(
            "--all",
            action="store_true",
            help="adopt every instance that can be adopted",
        )
        parser.add_argument(
            "--config-file",
            metavar="FILE",
            action="append",
            default=[],
            help="configuration file of Tacker; repeatable; the last one has "
            "precedence [the default location of Tacker]",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        adopt = host.load("adopt")
        try:
            self._rows = list(
                adopt(
                    parsed_args.instances,
                    parsed_args.all,
                    parsed_args.config_file,
                )
            )
        except errors.RequestInvalid as error:
            self._rows = [("", "", "", f"refused: {error}")]
        return self.columns, self._rows

    def run(self, parsed_args: argparse.Namespace) -> int:
        try:
            super().run(parsed_args)
        except errors.Error as error:
            self.app.stderr.write(f"{error}\n")
            return Exit.REFUSED
        refused = any(row[-1].startswith("refused") for row in self._rows)
        return Exit.REFUSED if refused else Exit.DONE
