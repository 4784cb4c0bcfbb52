"""A Tacker for one column of the table, and what its tests need."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import os
import pathlib
import shutil

from tools.tacker import Host
from tools.tacker import Options
from tools.tacker import environment as published
from tools.tacker import folders
from tools.upstream import cluster as clusters
from tools.upstream import environment
from tools.upstream import sftp
from tools.upstream import source
from tools.upstream import vims
from tools.upstream.cluster import Cluster
from tools.upstream.columns import Column

SERVICES = pathlib.Path(__file__).resolve().parent / "services"
SCRIPT = (
    "samples/mgmt_driver/kubernetes/container_update/container_update_mgmt.py"
)
MANAGEMENT = ("vnflcm_noop", "mgmt-container-update")

_KEYSTONE = "keystonemiddleware.auth_token:filter_factory"
_OURS = "upstream_services.auth:filter_factory"

Say = Callable[[str], object]


@dataclasses.dataclass(frozen=True)
class Stand:
    """What a suite needs to run.

    :param python: of the environment with the tests' requirements.
    :param source: Tacker's source, with the files of the VIMs.
    """

    host: Host
    cluster: Cluster
    python: pathlib.Path
    source: pathlib.Path


@dataclasses.dataclass(frozen=True)
class Place:
    """Where everything of a run is kept while it runs.

    :param shift: of the ports of its plane.
    :param tree: the project to install; empty for this one.
    """

    folder: pathlib.Path
    shift: int = clusters.SHIFT
    tree: str = ""
    say: Say = print

    @contextlib.contextmanager
    def stand(self, column: Column) -> Iterator[Stand]:
        """A new plane, a new Tacker and new files, for one column."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        cache = source.cache(os.environ)
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        archive = source.archive(cache, self.say)
        base = published.published(folders.cache(os.environ), self.say)
        python = environment.tests(cache, base, self.say) / "bin" / "python"
        tree = source.unpack(archive, self.folder)
        with contextlib.ExitStack() as stack:
            stack.enter_context(sftp.serving(self.folder / "rules"))
            cluster = stack.enter_context(self._cluster())
            host = Host.of(self.folder / "tacker", self.say)
            host.down()
            stack.callback(host.down)
            host.up(self._options(column, tree, base))
            # Tacker reads it in /etc/tacker and in HOME, which is this.
            shutil.copy(
                base / "etc/tacker/prometheus-plugin.yaml", host.folders.run
            )
            vim = vims.of(cluster)
            vims.write(tree, vim, None)
            vims.register(host.url, vims.registrations(vim, None))
            yield Stand(host, cluster, python, tree)

    def _cluster(self) -> contextlib.AbstractContextManager[Cluster]:
        if os.environ.get("KUBECONFIG"):
            return clusters.named(os.environ)
        folder = self.folder / "plane"
        return clusters.started(folder, self.shift, None, self.say)

    def _options(
        self, column: Column, tree: pathlib.Path, base: pathlib.Path
    ) -> Options:
        paste = self.folder / "api-paste.ini"
        shipped = (base / "etc/tacker/api-paste.ini").read_text()
        paste.write_text(shipped.replace(_KEYSTONE, _OURS))
        # A build leaves files where it works.
        plugin = self.folder / "services"
        shutil.rmtree(plugin, ignore_errors=True)
        shutil.copytree(SERVICES, plugin)
        # Version 1 compares the script of a package with the installed one.
        shutil.copy(tree / SCRIPT, plugin / "upstream_services")
        return Options(
            drivers=(column.driver,),
            management=MANAGEMENT,
            settings=(
                ("DEFAULT.api_paste_config", str(paste)),
                *column.settings,
            ),
            plugins=(str(plugin),),
            tree=self.tree,
        )
