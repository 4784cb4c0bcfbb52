"""The command ``check``: whether Tacker really loads this driver."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr.driver import findings
from tacker_k8s_cr.driver.findings import Finding
from tacker_k8s_cr.driver.findings import Level
from tacker_k8s_cr.screen import listing

BAD = 2
"""The exit code when there is an error."""


class Check(listing.Listing):
    """See whether Tacker in this environment loads the driver, and why not.

    Nothing is changed. Run it in the environment of tacker-conductor, as
    its user, before the services are restarted.
    """

    columns = ("Level", "Subject", "Finding")

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--config-file",
            metavar="FILE",
            action="append",
            default=[],
            help="Tacker's configuration, several in their order; where "
            "Tacker looks for it unless given",
        )
        parser.add_argument(
            "--no-database",
            action="store_true",
            help="do not ask Tacker's database for operations that wait",
        )
        parser.add_argument(
            "--vims",
            action="store_true",
            help="ask every VIM of Kubernetes, with its credential, whether "
            "it can be reached and the record of an instance be written; "
            "needs Tacker's key manager",
        )
        parser.add_argument(
            "--fix",
            action="store_true",
            help="print the lines to change in the configuration file, and "
            "nothing else",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        self._found = tuple(_found(parsed_args))
        return (
            self.all_columns,
            [(f.level.value, f.subject, f.what) for f in self._found],
        )

    def produce_output(self, parsed_args: Any, names: Any, data: Any) -> None:
        if parsed_args.fix:
            for line in findings.lines(self._found):
                self.app.stdout.write(f"{line}\n")
        else:
            super().produce_output(parsed_args, names, data)

    def run(self, parsed_args: argparse.Namespace) -> int:
        super().run(parsed_args)
        bad = any(item.level is Level.ERROR for item in self._found)
        return BAD if bad else 0


def _found(args: argparse.Namespace) -> Iterator[Finding]:
    # Imported here: all commands are imported for the list of them, where
    # there need not be a Tacker.
    from tacker_k8s_cr.driver import surroundings

    versions = surroundings.versions()
    yield from findings.of_versions(versions)
    yield from _of_handlers()
    if not versions.tacker:
        return
    try:
        configured = surroundings.configured(args.config_file)
    except errors.RequestInvalid as error:
        yield Finding(Level.ERROR, "configuration", str(error))
        return
    yield from _of_configuration(configured)
    if not args.no_database:
        yield from _of_operations()
    if args.vims:
        yield from _of_vims()


def _of_handlers() -> Iterator[Finding]:
    from tacker_k8s_cr import plugins

    try:
        handlers = plugins.registry().handlers
    except errors.PluginInvalid as error:
        yield Finding(Level.ERROR, "handlers", str(error))
        return
    kinds: dict[str, list[str]] = {}
    for group_kind, handler in handlers.items():
        if handler.name:
            kinds.setdefault(handler.name, []).append(str(group_kind))
    for name, described in sorted(kinds.items()):
        what = ", ".join(sorted(described))
        yield Finding(Level.FINE, f"handlers {name}", what)


def _of_configuration(configured: Any) -> Iterator[Finding]:
    from tacker_k8s_cr.driver import surroundings

    files = ", ".join(configured.files)
    yield Finding(
        Level.FINE if files else Level.WARNING,
        "configuration",
        files or "no file was found; Tacker's defaults are looked at",
    )
    faults = surroundings.faults_of_hook() if configured.v2 else ()
    for option in findings.OPTIONS:
        names = configured.options[option]
        yield from findings.of_infra(
            option, names, surroundings.drivers(surroundings.INFRA, names)
        )
    named = any(
        findings.OURS in configured.options[option]
        for option in findings.OPTIONS
    )
    yield from findings.of_v2(configured.v2, named, faults)
    names = configured.options[findings.MANAGEMENT]
    wanted = {*names, findings.DELIVERY}
    drivers = surroundings.drivers(surroundings.MANAGEMENT, wanted)
    yield from findings.of_management(names, drivers)
    try:
        carried = surroundings.carried(configured.packages)
    except errors.RequestInvalid as error:
        yield Finding(Level.WARNING, "packages", str(error))
        return
    yield from findings.of_packages(carried, names, drivers)


def _of_operations() -> Iterator[Finding]:
    from tacker_k8s_cr.driver import database

    try:
        yield from findings.of_unfinished(database.unfinished())
    except errors.RequestInvalid as error:
        yield Finding(Level.WARNING, "operations", str(error))


def _of_vims() -> Iterator[Finding]:
    from tacker_k8s_cr.driver import database

    try:
        for vim in database.vims():
            yield Finding(
                Level.ERROR if vim.trouble else Level.FINE,
                f"VIM {vim.name}",
                vim.trouble or "can be reached, and takes a record",
            )
    except errors.RequestInvalid as error:
        yield Finding(Level.ERROR, "VIMs", str(error))
