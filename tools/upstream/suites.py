"""The suites of Tacker's functional tests that need a Kubernetes cluster."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

from tools.upstream.errors import UpstreamError

FOLDER = "tacker/tests/functional"


@dataclasses.dataclass(frozen=True)
class Suite:
    """Some of the tests, which run in one process.

    :param paths: files and folders below ``FOLDER``.
    :param needs: what has to be there beside Tacker and the cluster.
    :param limit: seconds that one test may take.
    """

    name: str
    title: str
    paths: tuple[str, ...]
    needs: frozenset[str] = frozenset()
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
    ),
    Suite(
        "tenants",
        "users of two projects",
        ("sol_kubernetes_multi_tenant",),
        # It waits for ever for an operation that has failed.
        limit=200,
    ),
    Suite(
        "helm",
        "Helm charts in version 2, with Tacker's own Helm driver",
        (f"{_V2}/test_helm.py",),
        frozenset({"helm"}),
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
    ),
)


def chosen(names: Sequence[str]) -> tuple[Suite, ...]:
    """The suites with these names, in their usual order; all without any."""
    known = [suite.name for suite in SUITES]
    if unknown := [name for name in names if name not in known]:
        raise UpstreamError(
            f"unknown suite {', '.join(unknown)}; expected one of "
            f"{', '.join(known)}"
        )
    return tuple(s for s in SUITES if not names or s.name in names)
