"""What the tests need around Tacker, as far as it can be had."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import os
import pathlib
from typing import Any

from tools.upstream import chart_host
from tools.upstream import cluster as clusters
from tools.upstream import helm
from tools.upstream import keycloak
from tools.upstream import prometheus_host
from tools.upstream.cluster import Cluster
from tools.upstream.keycloak import OpenId

PrintLine = Callable[[str], object]


@dataclasses.dataclass(frozen=True)
class Prerequisites:
    """The services beside one Tacker.

    :param identity: the cluster as a VIM with OpenID; None without it.
    :param extra: parameters of a VIM for the host with Helm.
    :param unavailable: by requirement of a suite, why it is not met.
    """

    cluster: Cluster
    identity: Mapping[str, Any] | None
    extra: Mapping[str, object]
    unavailable: Mapping[str, str]

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no result and no log may contain."""
        found = [self.cluster.token]
        if self.identity:
            found += [self.identity["password"]]
            found += [self.identity["client_secret"]]
        return tuple(found)


@contextlib.contextmanager
def start(
    folder: pathlib.Path,
    sample: pathlib.Path,
    needs: Collection[str],
    shift: int,
    print_line: PrintLine,
) -> Iterator[Prerequisites]:
    """All that the suites need, as long as the context is entered.

    :param sample: a chart for the host with Helm.
    :param shift: of the ports of the plane.
    """
    named = bool(os.environ.get("KUBECONFIG"))
    unavailable: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        if "prometheus" in needs:
            stack.enter_context(prometheus_host.start(folder / "rules"))
        provider = None
        if "openid" in needs and named:
            unavailable["openid"] = (
                "the API server that KUBECONFIG names does not trust the "
                "OpenID provider of the tests"
            )
        elif "openid" in needs:
            provider = stack.enter_context(keycloak.start(folder / "openid"))
        started = (
            clusters.from_kubeconfig(os.environ)
            if named
            else _start_plane(folder / "plane", shift, provider, print_line)
        )
        cluster = stack.enter_context(started)
        extra: Mapping[str, object] = {}
        if "chart host" in needs:
            charts = _charts(folder / "charts", cluster, sample, print_line)
            try:
                extra = stack.enter_context(charts)
            except OSError as error:
                where = "{}:{}".format(*chart_host.ADDRESS)
                unavailable["chart host"] = (
                    f"cannot listen on {where}: {error}"
                )
        identity = provider.vim(cluster) if provider else None
        yield Prerequisites(cluster, identity, extra, unavailable)


@contextlib.contextmanager
def _start_plane(
    folder: pathlib.Path,
    shift: int,
    provider: OpenId | None,
    print_line: PrintLine,
) -> Iterator[Cluster]:
    trusted = provider.trusted if provider else None
    with clusters.start_plane(folder, shift, trusted, print_line) as found:
        if provider:
            provider.allow(found)
        yield found


def _charts(
    folder: pathlib.Path,
    cluster: Cluster,
    sample: pathlib.Path,
    print_line: PrintLine,
) -> contextlib.AbstractContextManager[Mapping[str, object]]:
    program = helm.build_program(os.environ, print_line)
    host = chart_host.ChartHost(folder, program, cluster.kubeconfig)
    return chart_host.start(host, sample)
