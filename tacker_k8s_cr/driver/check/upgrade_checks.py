"""The checks of an installation, on oslo.upgradecheck.

Each finding is a check with a name, a code and details. The command
``tacker-k8s-cr check`` prints them as rows; the program
``tacker-k8s-cr-status upgrade check`` prints them as OpenStack's services do.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import functools
import sys
from typing import Any

from oslo_config import cfg
from oslo_upgradecheck import upgradecheck
from oslo_upgradecheck.upgradecheck import Code
from oslo_upgradecheck.upgradecheck import Result

from tacker_k8s_cr.driver.check import check_rules
from tacker_k8s_cr.driver.check import installation
from tacker_k8s_cr.driver.check.check_rules import Finding
from tacker_k8s_cr.kinds import plugins
from tacker_k8s_cr.model import errors


class InstallationChecks(upgradecheck.UpgradeCommands):
    """The findings about Tacker in this environment.

    :param config_files: of Tacker; if empty, those that Tacker would find.
    :param database: check Tacker's database for operations in FAILED_TEMP.
    :param vims: check every VIM of Kubernetes with its credential.
    """

    def __init__(
        self,
        config_files: Sequence[str] = (),
        database: bool = True,
        vims: bool = False,
    ):
        self.findings = tuple(_find(config_files, database, vims))
        self._upgrade_checks = tuple(
            (finding.subject, functools.partial(_result, finding))
            for finding in self.findings
        )

    @property
    def code(self) -> Code:
        """The highest code of all checks."""
        return max(finding.code for finding in self.findings)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return level, subject and details of each finding."""
        return [
            (finding.level, finding.subject, finding.details)
            for finding in self.findings
        ]

    def fix_lines(self) -> tuple[str, ...]:
        """Return the lines to change in the configuration file."""
        return check_rules.fix_lines(self.findings)


def _result(finding: Finding, _: Any) -> Result:
    return Result(finding.code, finding.details)


def main() -> int:
    """Run the program ``tacker-k8s-cr-status upgrade check``."""
    conf = cfg.ConfigOpts()

    class Status(upgradecheck.UpgradeCommands):
        def check(self) -> Code:
            checks = InstallationChecks(conf.config_file)
            self._upgrade_checks = checks._upgrade_checks
            code: Code = super().check()
            return code

    code: int = upgradecheck.main(conf, "tacker", Status(), sys.argv[1:])
    return code


def _find(
    config_files: Sequence[str], database: bool, vims: bool
) -> Iterator[Finding]:
    versions = installation.versions()
    yield from check_rules.check_versions(versions)
    yield from _of_handlers()
    if not versions.tacker:
        return
    try:
        configured = installation.read_configuration(config_files)
    except errors.RequestInvalid as error:
        yield Finding(Code.FAILURE, "configuration", str(error))
        return
    yield from _of_configuration(configured)
    if database:
        yield from _of_operations()
    if vims:
        yield from _of_vims()


def _of_handlers() -> Iterator[Finding]:
    try:
        handlers = plugins.registry().handlers
    except errors.PluginInvalid as error:
        yield Finding(Code.FAILURE, "handlers", str(error))
        return
    kinds: dict[str, list[str]] = {}
    for group_kind, handler in handlers.items():
        if handler.name:
            kinds.setdefault(handler.name, []).append(str(group_kind))
    for name, described in sorted(kinds.items()):
        what = ", ".join(sorted(described))
        yield Finding(Code.SUCCESS, f"handlers {name}", what)


def _of_configuration(configured: Any) -> Iterator[Finding]:
    files = ", ".join(configured.files)
    yield Finding(
        Code.SUCCESS if files else Code.WARNING,
        "configuration",
        files or "no file was found; the defaults of Tacker are checked",
    )
    faults = installation.faults_of_hook() if configured.v2 else ()
    for option in check_rules.OPTIONS:
        names = configured.options[option]
        yield from check_rules.check_infra_drivers(
            option, names, installation.drivers(installation.INFRA, names)
        )
    named = any(
        check_rules.OURS in configured.options[option]
        for option in check_rules.OPTIONS
    )
    yield from check_rules.check_v2(configured.v2, named, faults)
    names = configured.options[check_rules.MANAGEMENT]
    wanted = {*names, check_rules.DELIVERY}
    drivers = installation.drivers(installation.MANAGEMENT, wanted)
    yield from check_rules.check_management_drivers(names, drivers)
    try:
        carried = installation.packaged_drivers(configured.packages)
    except errors.RequestInvalid as error:
        yield Finding(Code.WARNING, "packages", str(error))
        return
    yield from check_rules.check_packages(carried, names, drivers)


def _of_operations() -> Iterator[Finding]:
    # Imported here: Tacker may not be installed.
    from tacker_k8s_cr.driver import tacker_db

    try:
        yield from check_rules.check_unfinished(tacker_db.list_unfinished())
    except errors.RequestInvalid as error:
        yield Finding(Code.WARNING, "operations", str(error))


def _of_vims() -> Iterator[Finding]:
    from tacker_k8s_cr.driver import tacker_db

    try:
        for vim in tacker_db.list_vims():
            yield Finding(
                Code.FAILURE if vim.trouble else Code.SUCCESS,
                f"VIM {vim.name}",
                vim.trouble or "can be reached, and accepts a record",
            )
    except errors.RequestInvalid as error:
        yield Finding(Code.FAILURE, "VIMs", str(error))
