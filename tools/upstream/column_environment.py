"""A Tacker for one column of the table, and what its tests need."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
import contextlib
import dataclasses
import os
import pathlib
import shutil

from tools.plane import lock
from tools.plane.folders import make_private
from tools.tacker import Host
from tools.tacker import Options
from tools.tacker import environment as published
from tools.tacker import folders
from tools.upstream import chart_host
from tools.upstream import cluster as clusters
from tools.upstream import environment
from tools.upstream import helm
from tools.upstream import prerequisites
from tools.upstream import source
from tools.upstream import vims
from tools.upstream.columns import Column
from tools.upstream.prerequisites import Prerequisites

SERVICES = pathlib.Path(__file__).resolve().parent / "services"
SCRIPT = (
    "samples/mgmt_driver/kubernetes/container_update/container_update_mgmt.py"
)
MANAGEMENT = ("vnflcm_noop", "mgmt-container-update")

PrintLine = Callable[[str], object]


@dataclasses.dataclass(frozen=True)
class SuiteEnvironment:
    """What a suite needs to run.

    :param python: of the environment with the tests' requirements.
    :param source: Tacker's source, with the files of the VIMs.
    """

    host: Host
    services: Prerequisites
    python: pathlib.Path
    source: pathlib.Path


@dataclasses.dataclass(frozen=True)
class ColumnEnvironment:
    """Where everything of a run is kept while it runs.

    :param shift: of the ports of its plane.
    :param tree: the project to install; empty for this one.
    """

    folder: pathlib.Path
    shift: int = clusters.SHIFT
    tree: str = ""
    print_line: PrintLine = print

    @contextlib.contextmanager
    def start(
        self, column: Column, needs: Collection[str] = ()
    ) -> Iterator[SuiteEnvironment]:
        """A new plane, a new Tacker and new files, for one column."""
        make_private(self.folder)
        cache = source.cache(os.environ)
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        archive = source.archive(cache, self.print_line)
        base = published.ensure_published(
            folders.cache(os.environ), self.print_line
        )
        python = (
            environment.ensure(cache, base, self.print_line) / "bin" / "python"
        )
        with lock.hold(self.folder / "lock", self.print_line):
            tree = source.unpack(archive, self.folder)
            with (
                prerequisites.start(
                    self.folder,
                    tree / chart_host.SAMPLE,
                    needs,
                    self.shift,
                    self.print_line,
                ) as services,
                self._tacker(self._options(column, tree)) as host,
            ):
                self._equip(host, base, needs)
                vim = vims.of(services.cluster)
                vims.write(tree, vim, services.identity)
                known = {**vim, "extra": services.extra}
                wanted = vims.registrations(known, services.identity)
                vims.register(host.url, wanted)
                yield SuiteEnvironment(host, services, python, tree)

    @contextlib.contextmanager
    def _tacker(self, options: Options) -> Iterator[Host]:
        host = Host.from_folder(self.folder / "tacker", self.print_line)
        # One that an interrupted run has left holds what its tests did.
        host.down()
        try:
            host.up(options)
            yield host
        finally:
            host.down()

    def _equip(
        self, host: Host, base: pathlib.Path, needs: Collection[str]
    ) -> None:
        """Create in a Tacker what its services require."""
        # They read it in /etc/tacker and in HOME, which is this.
        rules = base / "etc/tacker/prometheus-plugin.yaml"
        shutil.copy(rules, host.folders.run)
        if "helm" in needs:
            program = helm.build_program(os.environ, self.print_line)
            (host.folders.environment / "bin/helm").symlink_to(program)

    def _options(self, column: Column, tree: pathlib.Path) -> Options:
        # A build leaves files where it works.
        plugin = self.folder / "services"
        shutil.rmtree(plugin, ignore_errors=True)
        shutil.copytree(SERVICES, plugin)
        # Version 1 compares the script of a package with the installed one.
        shutil.copy(tree / SCRIPT, plugin / "upstream_services")
        return Options(
            drivers=(column.driver,),
            management=MANAGEMENT,
            settings=column.settings,
            plugins=(str(plugin),),
            tree=self.tree,
        )
