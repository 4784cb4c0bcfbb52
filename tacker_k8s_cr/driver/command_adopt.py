"""The command ``adopt``: take instances over from Tacker's own driver."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import importlib
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr.screen import listing

REFUSED = 2
"""The exit code when an instance was not adopted."""


class Adopt(listing.Listing):
    """Take over VNF instances of Tacker's own Kubernetes driver.

    The objects in the cluster stay as they are; no Pod is restarted. From then
    on all operations of these instances go to this driver. Run it in the
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
            help="configuration file of Tacker, repeatable, the last one wins "
            "(default: where Tacker looks for it)",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        try:
            self._rows = list(_rows(parsed_args))
        except errors.RequestInvalid as error:
            self._rows = [("", "", "", f"refused: {error}")]
        return self.columns, self._rows

    def run(self, parsed_args: argparse.Namespace) -> int:
        super().run(parsed_args)
        refused = any(row[-1].startswith("refused") for row in self._rows)
        return REFUSED if refused else 0


def _rows(args: argparse.Namespace) -> Iterator[tuple[str, str, str, str]]:
    # Imported here: all commands are imported for the list of them, where
    # there need not be a Tacker.
    from tacker_k8s_cr.driver import surroundings

    surroundings.configured(args.config_file)
    with surroundings.quiet():
        adoptable = importlib.import_module("tacker_k8s_cr.driver.adoptable")
        adoptable.prepare()
        found = {item.id: item for item in adoptable.listed()}
    for id_ in args.instances:
        if id_ not in found:
            why = "not an instance of Tacker's own Kubernetes driver"
            yield "", id_, "", f"refused: {why}"
    for id_, item in found.items():
        result = "can be adopted"
        if args.all or id_ in args.instances:
            try:
                with surroundings.quiet():
                    adoptable.adopt(item)
                result = "adopted"
            except errors.Error as error:
                result = f"refused: {error}"
        elif args.instances:
            continue
        yield item.api, id_, item.name, result
