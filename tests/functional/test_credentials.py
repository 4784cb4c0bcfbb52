"""How a VIM shows who it is, to real servers."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import logging

from oslo_config import cfg
import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr import kubeconfig as kubeconfigs
from tacker_k8s_cr.cluster import openid
from tacker_k8s_cr.driver import conf
from tacker_k8s_cr.driver import vim
from tacker_k8s_cr.kubeconfig import jwt
from tacker_k8s_cr.objects import ObjectRef
from tests import second as seconds
from tests.functional import manifests
from tools.proxy import Proxy

pytestmark = pytest.mark.plane

SETTINGS = conf.settings(cfg.ConfigOpts())
LIFETIME = 8.0
"""Seconds of a token of the provider: less than an operation takes here."""


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    """Another API server, which takes tokens of an OpenID provider."""
    folder = tmp_path_factory.mktemp("second")
    with seconds.api_server(folder, f"{LIFETIME:.0f}s") as found:
        kubeconfig = vim.kubeconfig(by_password(found), settings(found))
        token = openid.token(kubeconfig).text
        found.grants(jwt.subject(token), "cluster-admin")
        yield found


def settings(second):
    return dataclasses.replace(
        SETTINGS, oidc_ca_file=str(second.provider.ca_file)
    )


def by_password(second, **changes):
    """A VIM with the password of a user of the provider."""
    user = second.provider.user
    return {
        "auth_url": second.server,
        "ssl_ca_cert": second.ca,
        "oidc_token_url": second.provider.url,
        "username": user.name,
        "password": user.password,
        "client_id": user.client,
        "client_secret": user.secret,
        "vim_id": "second",
        **changes,
    }


@pytest.fixture
def proxied(kubectl, kubeconfig, tmp_path, unique):
    """A VIM with a name and password, and the proxy that takes them."""
    kubectl(
        "create",
        "clusterrolebinding",
        unique,
        "--clusterrole=cluster-admin",
        f"--user={unique}",
    )
    with Proxy(tmp_path, kubeconfig, {unique: "planted-pa55wörd"}) as proxy:
        yield (
            proxy,
            {
                "auth_url": proxy.url,
                "ssl_ca_cert": proxy.ca,
                "username": unique,
                "password": "planted-pa55wörd",
            },
        )
    kubectl("delete", "clusterrolebinding", unique)


def pending(name):
    """A Pod that nobody makes ready."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "nodeSelector": {"example.org/no-such": "node"},
            "containers": [{"name": "main", "image": "example.org/a:1"}],
        },
    }


def made_ready(kubectl, namespace, name):
    now = "2026-01-01T00:00:00Z"
    status = {
        "phase": "Running",
        "conditions": [
            {
                "type": kind,
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": now,
            }
            for kind in ("PodScheduled", "Initialized", "Ready")
        ],
    }
    kubectl(
        "patch",
        "pod",
        name,
        "-n",
        namespace,
        "--subresource=status",
        "--type=merge",
        "-p",
        json.dumps({"status": status}),
    )


# -- A name and password -----------------------------------------------------


def test_a_name_and_password_through_a_proxy(
    proxied, namespace, packed, deadline, unique, traces
):
    """No API server takes them; what stands before one may (K2)."""
    proxy, access = proxied
    life = {"namespace": namespace, "deadline": deadline}

    with vim.opened(access, SETTINGS) as cluster:
        k8s_cr.instantiate(
            cluster, unique, packed(manifests.deployment("web")), **life
        )
        k8s_cr.terminate(cluster, unique, **life)

    assert {unique} == set(proxy.served)
    assert 0 == proxy.refused
    assert [] == traces(unique, namespace)


def test_a_wrong_password(proxied, namespace, packed, deadline, unique):
    """The error says whose it is, and not what it is."""
    _, access = proxied
    wrong = {**access, "password": "planted-wrong", "vim_id": "edge"}

    with (
        vim.opened(wrong, SETTINGS) as cluster,
        pytest.raises(errors.Unauthenticated) as caught,
    ):
        k8s_cr.instantiate(
            cluster,
            unique,
            packed(manifests.config_map("a")),
            namespace=namespace,
            deadline=deadline,
        )

    assert str(caught.value).startswith(
        f"the API server {access['auth_url']} refuses the credential of VIM "
        "edge"
    )
    assert "planted" not in str(caught.value)


# -- OpenID Connect ----------------------------------------------------------


@pytest.mark.parametrize("scope", ["openid", "openid offline_access"])
def test_an_operation_outlives_its_tokens(
    second, packed, unique, caplog, scope
):
    """They are renewed for all threads at once, and never shown (K3).

    The Pod becomes ready when the third token is in use; with the second
    scope the provider gives refresh tokens.
    """
    caplog.set_level(logging.DEBUG)
    kubectl = second.plane.kubectl
    kubectl("create", "namespace", unique)
    before = len(second.provider.grants)
    chosen = dataclasses.replace(settings(second), oidc_scope=scope)
    life = {
        "namespace": unique,
        "deadline": k8s_cr.Deadline.after(60),
    }

    with (
        vim.opened(by_password(second, vim_id=unique), chosen) as cluster,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
    ):
        done = pool.submit(
            k8s_cr.instantiate,
            cluster,
            unique,
            packed(pending("slow"), *config_maps(40)),
            **life,
        )
        second.provider.await_grants(before + 3)
        made_ready(kubectl, unique, "slow")
        report = done.result()
        k8s_cr.terminate(cluster, unique, **life)

    assert report.seconds > 0.8 * LIFETIME
    asked = second.provider.grants[before:]
    first, *others = asked
    assert "password 200" == first
    kind = "refresh_token" if "offline" in scope else "password"
    assert {f"{kind} 200"} == set(others)
    assert len(asked) <= 1 + report.seconds / (0.8 * LIFETIME) + 2
    secrets = (second.provider.user.password, second.provider.user.secret)
    assert not any(secret in caplog.text for secret in secrets)
    assert "eyJ" not in caplog.text


def config_maps(number):
    return [manifests.config_map(f"a{n}") for n in range(number)]


def test_a_bearer_token_that_ends_in_an_operation(
    second, packed, unique, tmp_path
):
    """The error names the VIM; with another token it goes on (K2)."""
    kubectl = second.plane.kubectl
    kubectl("create", "namespace", unique)
    access = by_password(second, vim_id=unique)
    kubeconfig = vim.kubeconfig(access, settings(second))

    def static(token):
        return {
            "auth_url": second.server,
            "ssl_ca_cert": second.ca,
            "bearer_token": token,
            "vim_id": "edge",
        }

    token = openid.token(kubeconfig).text
    package = packed(pending("slow"), manifests.config_map("a"))
    life = {"namespace": unique, "deadline": k8s_cr.Deadline.after(90)}

    with (
        vim.opened(static(token), SETTINGS) as cluster,
        pytest.raises(errors.Unauthenticated) as caught,
    ):
        k8s_cr.instantiate(cluster, unique, package, **life)

    assert "refuses the credential of VIM edge: it expired at" in str(
        caught.value
    )
    assert token not in str(caught.value)
    made_ready(kubectl, unique, "slow")
    with vim.opened(access, settings(second)) as cluster:
        report = k8s_cr.instantiate(cluster, unique, package, **life)
        assert "created" not in {row.action.value for row in report.rows}
        k8s_cr.terminate(cluster, unique, **life)


def test_a_wrong_password_of_the_provider(second, unique):
    """The provider is asked once, and its words are told (K3)."""
    wrong = by_password(second, password="planted-wrong", vim_id=unique)
    before = len(second.provider.grants)

    with vim.opened(wrong, settings(second)) as cluster:
        for _ in range(3):
            with pytest.raises(errors.NoToken) as caught:
                cluster.version()

    assert (
        f"the identity provider {second.provider.url} gives no token for VIM "
        f"{unique}: access_denied: Invalid username or password (401)"
    ) == str(caught.value)
    assert ["password 401"] == second.provider.grants[before:]


def test_a_provider_that_nobody_vouches_for(second, unique):
    """A password is not sent to it; the CA of the VIM does not do (T9)."""
    before = len(second.provider.grants)
    access = by_password(second, vim_id=unique)
    insecure = dataclasses.replace(SETTINGS, insecure=True)

    for chosen in (SETTINGS, insecure):
        with (
            vim.opened(access, chosen) as cluster,
            pytest.raises(errors.NoToken, match="certificate is not trusted"),
        ):
            cluster.version()

    assert before == len(second.provider.grants)


def test_the_vims_authority_may_vouch_for_both(second, unique):
    """As Tacker's own driver has it: one text, several certificates."""
    both = second.ca + second.provider.ca
    access = by_password(second, ssl_ca_cert=both, vim_id=unique)

    with vim.opened(access, SETTINGS) as cluster:
        assert cluster.version()


# -- Trust -------------------------------------------------------------------


@pytest.mark.parametrize("ca", ["None", "", None])
def test_a_private_authority_must_be_named(second, ca):
    """Without one the system's certificates vouch, or nobody (T9)."""
    access = {
        "auth_url": second.server,
        "bearer_token": "planted-token",
        "ssl_ca_cert": ca,
    }

    with (
        vim.opened(access, SETTINGS) as cluster,
        pytest.raises(errors.Unreachable, match="not trusted") as caught,
    ):
        cluster.version()

    assert "planted" not in str(caught.value)


def test_the_systems_certificates_vouch(second, monkeypatch, tmp_path):
    """An operator may add an authority to the system's (T9)."""
    bundle = tmp_path / "bundle.pem"
    bundle.write_text(second.ca + second.provider.ca)
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    access = by_password(second, ssl_ca_cert="None", vim_id=str(tmp_path))

    with vim.opened(access, SETTINGS) as cluster:
        assert cluster.version()


def test_verification_is_switched_off_by_name(second, caplog):
    """It is said once for each server, and not by the VIM (T9)."""
    insecure = dataclasses.replace(settings(second), insecure=True)
    server = second.server.replace("127.0.0.1", "localhost")
    access = by_password(second, ssl_ca_cert="None", auth_url=server)

    for _ in range(2):
        with vim.opened(access, insecure) as cluster:
            assert cluster.version()

    assert 1 == caplog.text.count("its certificate is not verified")


# -- Several targets ---------------------------------------------------------


def test_several_vims_at_once(
    second, cluster, proxied, namespace, packed, deadline, unique
):
    """Each instance is where its VIM is, and nowhere else (K1)."""
    second.plane.kubectl("create", "namespace", namespace)
    _, access = proxied
    life = {"namespace": namespace, "deadline": deadline}

    def carried(number):
        where = (access, by_password(second))[number % 2]
        of = (SETTINGS, settings(second))[number % 2]
        name = f"{unique}-{number}"
        with vim.opened(where, of) as opened:
            found = packed(manifests.config_map(name), name=name)
            k8s_cr.instantiate(opened, name, found, **life)
        return name

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        names = list(pool.map(carried, range(8)))

    with vim.opened(by_password(second), settings(second)) as other:
        for number, name in enumerate(names):
            ref = ObjectRef("", "ConfigMap", namespace, name)
            here, there = cluster.get(ref), other.get(ref)
            assert (number % 2 == 0, number % 2 == 1) == (
                here is not None,
                there is not None,
            )
            home = (cluster, other)[number % 2]
            k8s_cr.terminate(home, name, **life)


def test_an_instance_is_bound_to_its_cluster(
    second, cluster, namespace, packed, deadline, unique
):
    """Its record is there: no other target takes what is its own (IN-4)."""
    kubectl = second.plane.kubectl
    kubectl("create", "namespace", namespace)
    life = {"namespace": namespace, "deadline": deadline}
    package = packed(manifests.config_map("a"))
    ref = ObjectRef("", "ConfigMap", namespace, "a")
    k8s_cr.instantiate(cluster, unique, package, **life)
    kubectl("create", "configmap", "a", "-n", namespace)
    kubectl("label", "configmap", "a", "-n", namespace, label(unique))

    with vim.opened(by_password(second), settings(second)) as other:
        for operation in (
            lambda: k8s_cr.change(other, unique, package, **life),
            lambda: k8s_cr.scale(other, unique, aspect="a", level=1, **life),
            lambda: k8s_cr.heal(other, unique, **life),
            lambda: k8s_cr.terminate(other, unique, **life),
        ):
            with pytest.raises(errors.InstanceUnknown):
                operation()
        assert "data" not in other.get(ref)

    assert cluster.get(ref)["data"]
    k8s_cr.terminate(cluster, unique, **life)


def label(instance):
    return f"k8s-cr.tacker.openstack.org/instance={instance}"


# -- A kubeconfig as text ----------------------------------------------------


def test_a_kubeconfig_as_text_leaves_no_file(
    kubeconfig, monkeypatch, tmp_path
):
    """With a client certificate and its key, used and closed (IN-1, K2)."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    text = kubeconfigs.load(str(kubeconfig)).text()
    made = folder.stat().st_mtime_ns

    found = k8s_cr.connect(kubeconfigs.parse(text, "a request"))
    assert found.version()
    found.close()

    assert [] == list(folder.iterdir())
    assert made == folder.stat().st_mtime_ns
