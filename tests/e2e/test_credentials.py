"""How a VIM of Tacker shows who it is: all that Tacker stores of it."""

from __future__ import annotations

import concurrent.futures
import json

import pytest

from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tacker_k8s_cr.kube import oidc
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.kubeconfig import OidcUser
from tacker_k8s_cr.kube.kubeconfig import jwt
from tests import second_api_server as seconds
from tests.e2e import packages
from tests.functional import manifests
from tools.proxy import Proxy
from tools.tacker import rest_api
from tools.tacker.vims import Vim

pytestmark = pytest.mark.plane


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    """Another API server, which takes tokens of an OpenID provider."""
    folder = tmp_path_factory.mktemp("second")
    with seconds.run_api_server(folder, "10s") as found:
        yield found


@pytest.fixture(scope="module")
def by_provider(second):
    """A VIM with a password for the provider; one CA text for both."""
    user = second.provider.user
    openid_user = OidcUser(
        second.provider.url,
        user.name,
        user.password,
        user.client,
        user.secret,
        ca=second.provider.ca,
    )
    token = oidc.token(
        Kubeconfig(where="test", server=second.server, openid=openid_user)
    )
    second.grants(jwt.subject(token.text), "cluster-admin")
    credentials = {
        "oidc_token_url": second.provider.url,
        "username": user.name,
        "password": user.password,
        "client_id": user.client,
        "client_secret": user.secret,
    }
    authorities = second.ca + second.provider.ca
    return Vim(second.server, authorities, credentials), second.plane.kubectl


@pytest.fixture
def by_proxy(kubectl, kubeconfig, tmp_path, unique_name):
    """A VIM with a name and password, for a proxy that takes them."""
    kubectl(
        "create",
        "clusterrolebinding",
        unique_name,
        "--clusterrole=cluster-admin",
        f"--user={unique_name}",
    )
    with Proxy(tmp_path, kubeconfig, {unique_name: "planted-pa55"}) as proxy:
        credentials = {"username": unique_name, "password": "planted-pa55"}
        yield Vim(proxy.url, proxy.ca, credentials), kubectl
    kubectl("delete", "clusterrolebinding", unique_name)


@pytest.fixture
def restricted(kubectl, kubeconfig, namespace):
    """A VIM whose user may read in a namespace, and keep records."""
    rules = [
        {
            "apiGroups": [""],
            "resources": ["namespaces", "configmaps"],
            "verbs": ["get", "list", "watch"],
        },
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]},
    ]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "reader", "namespace": namespace},
        "rules": rules,
    }
    kubectl("create", "-f", "-", stdin=json.dumps(role))
    kubectl("create", "serviceaccount", "reader", "-n", namespace)
    kubectl(
        "create",
        "rolebinding",
        "reader",
        "-n",
        namespace,
        "--role=reader",
        f"--serviceaccount={namespace}:reader",
    )
    token = kubectl("create", "token", "reader", "-n", namespace).strip()
    place = kubeconfigs.load(str(kubeconfig))
    return Vim(place.server, place.ca, {"bearer_token": token})


@pytest.fixture
def small(tmp_path, unique_name, upload):
    """A package of one ConfigMap, uploaded; its name is the test's."""
    made = packages.build(
        tmp_path, {"a.yaml": [manifests.config_map(unique_name)]}
    )
    return made, upload(made)


@pytest.mark.parametrize("credential", ["by_provider", "by_proxy"])
@pytest.mark.requirement("K3")
def test_a_vim_with_a_password(
    request, host, v1, v2, vim, small, unique_name, credential
):
    """For a provider or a proxy: Tacker's keys, of both versions.

    ``vim`` is the default VIM, without which v1 takes no package.
    """
    target, kubectl = request.getfixturevalue(credential)
    csar, package = small

    def lived(api):
        namespace = f"{unique_name}-{api.version}"
        at = target if api is v2 else v1.register_vim(target)
        kubectl("create", "namespace", namespace)
        instance = api.create(package.vnfd)
        body = rest_api.instantiation(api, at, csar.files, namespace=namespace)
        seen = []
        for action, said in (
            ("instantiate", body),
            ("terminate", rest_api.FORCEFUL),
        ):
            api.done(instance, action, said)
            there = kubectl("get", "configmap", "-n", namespace, "-o", "name")
            seen.append(f"configmap/{unique_name}" in there)
        api.delete(instance)
        kubectl("delete", "namespace", namespace, "--wait=false")
        return seen

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert [[True, False]] * 2 == list(pool.map(lived, [v1, v2]))

    for secret in ("password", "client_secret"):
        word = target.credentials.get(secret, "planted")
        assert word not in host.log("tacker-conductor")


def test_tacker_reports_missing_permissions(
    v2, vim, small, restricted, namespace
):
    """All of them, in the error of the operation; nothing is there.

    In v2: Tacker lists the namespaces of a VIM that v1 registers, which
    this user may not.
    """
    csar, package = small
    instance = v2.create(package.vnfd)

    found = v2.run(
        instance,
        "instantiate",
        rest_api.instantiation(
            v2, restricted, csar.files, namespace=namespace
        ),
    )

    assert "FAILED_TEMP" == found["operationState"]
    detail = found["error"]["detail"]
    where = f"in the namespace {namespace}"
    assert f"create, patch, delete configmaps {where}" in detail
    verbs = "get, watch, create, update, delete"
    assert f"{verbs} leases.coordination.k8s.io {where}" in detail
    v2.rollback(found["id"])
