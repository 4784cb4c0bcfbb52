"""The suites of Tacker's functional tests that need a Kubernetes cluster."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

from tools.plane import ports
from tools.upstream import prometheus_host
from tools.upstream.errors import UpstreamError

FOLDER = "tacker/tests/functional"
NOTIFIED = 9990
"""Where tests of version 2 receive notifications."""


@dataclasses.dataclass(frozen=True)
class Suite:
    """Some of the tests, which run in one process.

    :param paths: files and folders below ``FOLDER``.
    :param needs: what has to be there beside Tacker and the cluster.
    :param ports: of 127.0.0.1, on which the tests listen.
    :param limit: seconds that one test may take.
    """

    name: str
    title: str
    paths: tuple[str, ...]
    needs: frozenset[str] = frozenset()
    ports: tuple[int, ...] = ()
    limit: int = 420

    @property
    def arguments(self) -> tuple[str, ...]:
        """The paths, from the root of Tacker's source."""
        return tuple(f"{FOLDER}/{path}" for path in self.paths)


_V2 = "sol_kubernetes_v2"
_V1 = "sol_kubernetes/vnflcm"

SUITES = (
    Suite(
        "v2",
        "API version 2, with fault and performance management",
        tuple(
            f"{_V2}/{name}.py"
            for name in (
                "test_change_vnfpkg",
                "test_prom_auto_scale_heal",
                "test_threshold_prometheus_plugin",
                "test_vnffm_basic",
                "test_vnflcm_basic",
                "test_vnfpm_basic",
                "test_vnfpm_threshold_basic",
            )
        ),
        frozenset({"prometheus"}),
        (NOTIFIED, prometheus_host.ADDRESS[1]),
    ),
    Suite(
        "v1",
        "API version 1",
        tuple(
            f"{_V1}/{name}.py"
            for name in (
                "test_kubernetes",
                "test_kubernetes_heal",
                "test_kubernetes_multi_ns",
                "test_kubernetes_scale",
            )
        ),
    ),
    Suite(
        "update",
        "management scripts that update containers, in both versions",
        (
            f"{_V1}/test_kubernetes_container_update.py",
            f"{_V2}/test_kubernetes_container_update.py",
        ),
        ports=(NOTIFIED,),
    ),
    Suite(
        "tenants",
        "users of two projects",
        ("sol_kubernetes_multi_tenant",),
        ports=(9995, 9996),
        # It waits for ever for an operation that has failed.
        limit=200,
    ),
    Suite(
        "helm",
        "Helm charts in version 2, with Tacker's own Helm driver",
        (f"{_V2}/test_helm.py",),
        frozenset({"helm"}),
        (NOTIFIED,),
    ),
    Suite(
        "helm-v1",
        "Helm charts in version 1, with Tacker's own Helm driver",
        (f"{_V1}/test_kubernetes_helm.py",),
        frozenset({"chart host"}),
    ),
    Suite(
        "openid",
        "a VIM whose credentials are an OpenID provider's",
        ("sol_kubernetes_oidc_auth",),
        frozenset({"openid"}),
        (NOTIFIED,),
    ),
)


def choose(names: Sequence[str]) -> tuple[Suite, ...]:
    """The suites with these names, in their usual order; all without any."""
    known = [suite.name for suite in SUITES]
    if unknown := [name for name in names if name not in known]:
        raise UpstreamError(
            f"unknown suite {', '.join(unknown)}; expected one of "
            f"{', '.join(known)}"
        )
    return tuple(s for s in SUITES if not names or s.name in names)


def check_ports(wanted: Sequence[Suite]) -> None:
    """Refuse to run when ports of the tests are taken."""
    holders = ports.find_holders(frozenset(p for s in wanted for p in s.ports))
    if holders:
        held = "\n".join(f"  {holder}" for holder in holders)
        raise UpstreamError(
            f"Tacker's tests use fixed ports that are not free:\n{held}\n"
            "Another run may use them; end it, or choose suites by --suite"
        )
