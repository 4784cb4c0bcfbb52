"""A Tacker for one column of the table, and what its tests need."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
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
from tools.upstream import openid
from tools.upstream import prometheus
from tools.upstream import source
from tools.upstream import vims
from tools.upstream.cluster import Cluster
from tools.upstream.columns import Column
from tools.upstream.openid import OpenId

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
    :param lacking: by need of a suite, why it is not met.
    :param secrets: what no result and no log may contain.
    """

    host: Host
    cluster: Cluster
    python: pathlib.Path
    source: pathlib.Path
    lacking: Mapping[str, str]
    secrets: tuple[str, ...]


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
    def stand(
        self, column: Column, needs: Collection[str] = ()
    ) -> Iterator[Stand]:
        """A new plane, a new Tacker and new files, for one column."""
        make_private(self.folder)
        cache = source.cache(os.environ)
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        archive = source.archive(cache, self.say)
        base = published.published(folders.cache(os.environ), self.say)
        python = environment.tests(cache, base, self.say) / "bin" / "python"
        lacking: dict[str, str] = {}
        with contextlib.ExitStack() as stack:
            held = lock.held(self.folder / "lock", self.say)
            stack.enter_context(held)
            tree = source.unpack(archive, self.folder)
            if "prometheus" in needs:
                rules = self.folder / "rules"
                stack.enter_context(prometheus.running(rules))
            provider = self._provider(stack, needs, lacking)
            cluster = stack.enter_context(self._cluster(provider))
            extra = self._helm(stack, needs, lacking, cluster, tree)
            host = Host.of(self.folder / "tacker", self.say)
            host.down()
            stack.callback(host.down)
            host.up(self._options(column, tree, base))
            # Tacker reads it in /etc/tacker and in HOME, which is this.
            shutil.copy(
                base / "etc/tacker/prometheus-plugin.yaml", host.folders.run
            )
            if "helm" in needs:
                program = helm.program(os.environ, self.say)
                (host.folders.environment / "bin/helm").symlink_to(program)
            vim = {**vims.of(cluster), "extra": extra}
            identity = provider.vim(cluster) if provider else None
            vims.write(tree, vims.of(cluster), identity)
            vims.register(host.url, vims.registrations(vim, identity))
            secrets = [cluster.token]
            if identity:
                secrets += [identity["password"], identity["client_secret"]]
            yield Stand(host, cluster, python, tree, lacking, tuple(secrets))

    def _provider(
        self,
        stack: contextlib.ExitStack,
        needs: Collection[str],
        lacking: dict[str, str],
    ) -> OpenId | None:
        if "openid" not in needs:
            return None
        if os.environ.get("KUBECONFIG"):
            lacking["openid"] = (
                "the API server that KUBECONFIG names does not trust the "
                "OpenID provider of the tests"
            )
            return None
        return stack.enter_context(openid.running(self.folder / "openid"))

    @contextlib.contextmanager
    def _cluster(self, provider: OpenId | None) -> Iterator[Cluster]:
        if os.environ.get("KUBECONFIG"):
            with clusters.named(os.environ) as cluster:
                yield cluster
            return
        trusted = provider.trusted if provider else None
        folder = self.folder / "plane"
        with clusters.started(folder, self.shift, trusted, self.say) as found:
            if provider:
                provider.allow(found)
            yield found

    def _helm(
        self,
        stack: contextlib.ExitStack,
        needs: Collection[str],
        lacking: dict[str, str],
        cluster: Cluster,
        tree: pathlib.Path,
    ) -> Mapping[str, object]:
        """What a VIM says about the host with Helm, for version 1."""
        if "chart host" not in needs:
            return {}
        host = chart_host.ChartHost(
            self.folder / "charts",
            helm.program(os.environ, self.say),
            cluster.kubeconfig,
        )
        running = chart_host.running(host, tree / chart_host.SAMPLE)
        try:
            return stack.enter_context(running)
        except OSError as error:
            where = "{}:{}".format(*chart_host.ADDRESS)
            lacking["chart host"] = f"no server can listen on {where}: {error}"
            return {}

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
