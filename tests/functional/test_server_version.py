"""The real API server behind a proxy that reports another version."""

from __future__ import annotations

import contextlib

from oslo_config import cfg
import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver import vim
from tacker_k8s_cr.model import errors
from tests.functional import manifests
from tools.proxy import Proxy

pytestmark = pytest.mark.plane

SETTINGS = configuration.settings(cfg.ConfigOpts())
PASSWORD = "planted-of-the-proxy"


@pytest.fixture
def reporting(kubectl, kubeconfig, tmp_path, unique_name):
    """Connects through a proxy whose ``/version`` is this one."""
    kubectl(
        "create",
        "clusterrolebinding",
        unique_name,
        "--clusterrole=cluster-admin",
        f"--user={unique_name}",
    )

    @contextlib.contextmanager
    def connect(version):
        users = {unique_name: PASSWORD}
        with Proxy(tmp_path, kubeconfig, users, version) as proxy:
            access = {
                "auth_url": proxy.url,
                "ssl_ca_cert": proxy.ca,
                "username": unique_name,
                "password": PASSWORD,
            }
            with vim.connect(access, SETTINGS) as cluster:
                yield cluster

    yield connect
    kubectl("delete", "clusterrolebinding", unique_name)


@pytest.mark.requirement("TK-22")
@pytest.mark.parametrize("version", ["v1.24.0", "v1.24.17"])
def test_a_server_before_1_25_is_refused(
    reporting,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
    version,
):
    """With its address, its version and the oldest that is supported.

    Nothing is written: no object of the package, no record, no lock.
    """
    package = make_package(manifests.config_map("a"))

    with (
        reporting(version) as cluster,
        pytest.raises(errors.RequestInvalid) as caught,
    ):
        k8s_cr.instantiate(make_request(cluster), package)

    said = str(caught.value)
    assert cluster.server in said
    assert version in said
    assert "v1.25" in said
    assert not caught.value.has_written
    assert [] == leftover_objects(unique_name, namespace)


@pytest.mark.requirement("TK-22")
def test_a_server_of_1_25_is_used(
    reporting,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
):
    """For the whole life cycle of an instance."""

    with reporting("v1.25.0") as cluster:
        assert "v1.25.0" == cluster.version()
        k8s_cr.instantiate(
            make_request(cluster), make_package(manifests.deployment("web"))
        )
        assert leftover_objects(unique_name, namespace)
        k8s_cr.terminate(make_request(cluster))

    assert [] == leftover_objects(unique_name, namespace)
