"""How a VIM shows who it is, to real servers."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import json
import logging
import tempfile

from oslo_config import cfg
import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver import vim
from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tacker_k8s_cr.kube import oidc
from tacker_k8s_cr.kube.kubeconfig import jwt
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tests import second_api_server as seconds
from tests.functional import manifests
from tools.proxy import Proxy

pytestmark = pytest.mark.plane

SETTINGS = configuration.settings(cfg.ConfigOpts())
LIFETIME = 8.0
"""Seconds of a token of the provider: less than an operation takes here."""


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    """Another API server, which takes tokens of an OpenID provider."""
    folder = tmp_path_factory.mktemp("second")
    with seconds.run_api_server(folder, f"{LIFETIME:.0f}s") as found:
        kubeconfig = vim.kubeconfig(by_password(found), settings(found))
        token = oidc.token(kubeconfig).text
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
def proxied(kubectl, kubeconfig, tmp_path, unique_name):
    """A VIM with a name and password, and the proxy that takes them."""
    kubectl(
        "create",
        "clusterrolebinding",
        unique_name,
        "--clusterrole=cluster-admin",
        f"--user={unique_name}",
    )
    with Proxy(
        tmp_path, kubeconfig, {unique_name: "planted-pa55wörd"}
    ) as proxy:
        yield (
            proxy,
            {
                "auth_url": proxy.url,
                "ssl_ca_cert": proxy.ca,
                "username": unique_name,
                "password": "planted-pa55wörd",
            },
        )
    kubectl("delete", "clusterrolebinding", unique_name)


def pending(name):
    """A Pod that never becomes ready."""
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
    proxied,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
):
    """No API server takes them; what stands before one may."""
    proxy, access = proxied

    with vim.connect(access, SETTINGS) as cluster:
        k8s_cr.instantiate(
            make_request(cluster), make_package(manifests.deployment("web"))
        )
        k8s_cr.terminate(make_request(cluster))

    assert {unique_name} == set(proxy.served)
    assert 0 == proxy.refused
    assert [] == leftover_objects(unique_name, namespace)


def test_a_wrong_password(proxied, make_request, make_package):
    """The error names the owner of the secret, and not its value."""
    _, access = proxied
    wrong = {**access, "password": "planted-wrong", "vim_id": "edge"}

    with (
        vim.connect(wrong, SETTINGS) as cluster,
        pytest.raises(errors.Unauthenticated) as caught,
    ):
        k8s_cr.instantiate(
            make_request(cluster), make_package(manifests.config_map("a"))
        )

    assert str(caught.value).startswith(
        f"the API server {access['auth_url']} refuses the credential of VIM "
        "edge"
    )
    assert "planted" not in str(caught.value)


# -- OpenID Connect ----------------------------------------------------------


@pytest.mark.parametrize("scope", ["openid", "openid offline_access"])
@pytest.mark.requirement("K3")
def test_an_operation_outlives_its_tokens(
    second, make_package, unique_name, caplog, scope
):
    """They are renewed for all threads at once, and never shown.

    The Pod becomes ready when the third token is in use; with the second
    scope the provider gives refresh tokens.
    """
    caplog.set_level(logging.DEBUG)
    kubectl = second.plane.kubectl
    kubectl("create", "namespace", unique_name)
    before = len(second.provider.grants)
    chosen = dataclasses.replace(settings(second), oidc_scope=scope)

    with (
        vim.connect(
            by_password(second, vim_id=unique_name), chosen
        ) as cluster,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
    ):
        request = k8s_cr.Request(
            cluster,
            unique_name,
            namespace=unique_name,
            deadline=k8s_cr.Deadline.after(60),
        )
        done = pool.submit(
            k8s_cr.instantiate,
            request,
            make_package(pending("slow"), *config_maps(40)),
        )
        second.provider.await_grants(before + 3)
        made_ready(kubectl, unique_name, "slow")
        report = done.result()
        k8s_cr.terminate(request)

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


@pytest.mark.requirement("K2")
def test_a_bearer_token_that_ends_in_an_operation(
    second, make_package, unique_name, tmp_path
):
    """The error names the VIM; with another token it goes on."""
    kubectl = second.plane.kubectl
    kubectl("create", "namespace", unique_name)
    access = by_password(second, vim_id=unique_name)
    kubeconfig = vim.kubeconfig(access, settings(second))

    def static(token):
        return {
            "auth_url": second.server,
            "ssl_ca_cert": second.ca,
            "bearer_token": token,
            "vim_id": "edge",
        }

    token = oidc.token(kubeconfig).text
    package = make_package(pending("slow"), manifests.config_map("a"))
    deadline = k8s_cr.Deadline.after(90)

    def request_for(connection):
        return k8s_cr.Request(
            connection,
            unique_name,
            namespace=unique_name,
            deadline=deadline,
        )

    with (
        vim.connect(static(token), SETTINGS) as cluster,
        pytest.raises(errors.Unauthenticated) as caught,
    ):
        k8s_cr.instantiate(request_for(cluster), package)

    assert "refuses the credential of VIM edge: it expired at" in str(
        caught.value
    )
    assert token not in str(caught.value)
    made_ready(kubectl, unique_name, "slow")
    with vim.connect(access, settings(second)) as cluster:
        report = k8s_cr.instantiate(request_for(cluster), package)
        assert "created" not in {row.action.value for row in report.objects}
        k8s_cr.terminate(request_for(cluster))


def test_a_wrong_password_of_the_provider(second, unique_name):
    """The provider is asked once, and the error contains its answer."""
    wrong = by_password(second, password="planted-wrong", vim_id=unique_name)
    before = len(second.provider.grants)

    with vim.connect(wrong, settings(second)) as cluster:
        for _ in range(3):
            with pytest.raises(errors.TokenRequestFailed) as caught:
                cluster.version()

    assert (
        f"the identity provider {second.provider.url} gives no token for VIM "
        f"{unique_name}: access_denied: Invalid username or password (401)"
    ) == caught.value.outcome()
    assert ["password 401"] == second.provider.grants[before:]


def test_a_provider_without_a_trusted_certificate(second, unique_name):
    """A password is not sent to it; the CA of the VIM does not do."""
    before = len(second.provider.grants)
    access = by_password(second, vim_id=unique_name)
    insecure = dataclasses.replace(SETTINGS, insecure=True)

    for chosen in (SETTINGS, insecure):
        with (
            vim.connect(access, chosen) as cluster,
            pytest.raises(
                errors.TokenRequestFailed, match="certificate is not trusted"
            ),
        ):
            cluster.version()

    assert before == len(second.provider.grants)


def test_the_vims_authority_may_vouch_for_both(second, unique_name):
    """As Tacker's own driver has it: one text, several certificates."""
    both = second.ca + second.provider.ca
    access = by_password(second, ssl_ca_cert=both, vim_id=unique_name)

    with vim.connect(access, SETTINGS) as cluster:
        assert cluster.version()


# -- Trust -------------------------------------------------------------------


@pytest.mark.parametrize("ca", ["None", "", None])
@pytest.mark.requirement("T9")
def test_a_private_authority_must_be_named(second, ca):
    """Without one the system's certificates are used, or none."""
    access = {
        "auth_url": second.server,
        "bearer_token": "planted-token",
        "ssl_ca_cert": ca,
    }

    with (
        vim.connect(access, SETTINGS) as cluster,
        pytest.raises(errors.Unreachable, match="not trusted") as caught,
    ):
        cluster.version()

    assert "planted" not in str(caught.value)


def test_the_systems_certificates_vouch(second, monkeypatch, tmp_path):
    """An operator may add an authority to the system's."""
    bundle = tmp_path / "bundle.pem"
    bundle.write_text(second.ca + second.provider.ca)
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    access = by_password(second, ssl_ca_cert="None", vim_id=str(tmp_path))

    with vim.connect(access, SETTINGS) as cluster:
        assert cluster.version()


def test_verification_is_switched_off_by_name(second, caplog):
    """It is said once for each server, and not by the VIM."""
    insecure = dataclasses.replace(settings(second), insecure=True)
    server = second.server.replace("127.0.0.1", "localhost")
    access = by_password(second, ssl_ca_cert="None", auth_url=server)

    for _ in range(2):
        with vim.connect(access, insecure) as cluster:
            assert cluster.version()

    assert 1 == caplog.text.count("its certificate is not verified")


# -- Several targets ---------------------------------------------------------


@pytest.mark.requirement("K1", "XO-5")
def test_several_vims_at_once(
    second,
    cluster,
    proxied,
    namespace,
    make_package,
    make_request,
    unique_name,
):
    """Each instance is where its VIM is, and nowhere else."""
    second.plane.kubectl("create", "namespace", namespace)
    _, access = proxied

    def carried(number):
        where = (access, by_password(second))[number % 2]
        of = (SETTINGS, settings(second))[number % 2]
        name = f"{unique_name}-{number}"
        with vim.connect(where, of) as opened:
            found = make_package(manifests.config_map(name), name=name)
            k8s_cr.instantiate(make_request(opened, name), found)
        return name

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        names = list(pool.map(carried, range(8)))

    with vim.connect(by_password(second), settings(second)) as other:
        for number, name in enumerate(names):
            ref = ObjectRef("", "ConfigMap", namespace, name)
            here, there = cluster.get(ref), other.get(ref)
            assert (number % 2 == 0, number % 2 == 1) == (
                here is not None,
                there is not None,
            )
            home = (cluster, other)[number % 2]
            k8s_cr.terminate(make_request(home, name))


@pytest.mark.requirement("IN-4", "XO-5")
def test_an_instance_is_bound_to_its_cluster(
    second, cluster, namespace, make_package, make_request, unique_name
):
    """Its record is there: no other target takes what is its own."""
    kubectl = second.plane.kubectl
    kubectl("create", "namespace", namespace)
    package = make_package(manifests.config_map("a"))
    ref = ObjectRef("", "ConfigMap", namespace, "a")
    k8s_cr.instantiate(make_request(), package)
    kubectl("create", "configmap", "a", "-n", namespace)
    kubectl("label", "configmap", "a", "-n", namespace, label(unique_name))

    with vim.connect(by_password(second), settings(second)) as other:
        for operation in (
            lambda: k8s_cr.change(make_request(other), package),
            lambda: k8s_cr.scale(make_request(other), aspect="a", level=1),
            lambda: k8s_cr.heal(make_request(other)),
            lambda: k8s_cr.terminate(make_request(other)),
        ):
            with pytest.raises(errors.InstanceNotFound):
                operation()
        assert "data" not in other.get(ref)

    assert cluster.get(ref)["data"]
    k8s_cr.terminate(make_request())


def label(instance):
    return f"k8s-cr.tacker.openstack.org/instance={instance}"


# -- A kubeconfig as text ----------------------------------------------------


@pytest.fixture
def certified(kubeconfig):
    """The text of a kubeconfig with a client certificate and its key."""
    return kubeconfigs.load(str(kubeconfig)).to_yaml()


@pytest.fixture
def with_token(kubectl, kubeconfig, namespace):
    """The text of a kubeconfig with the token of an account.

    The account may write in the namespace, and nowhere else.
    """
    kubectl("create", "serviceaccount", "writer", "-n", namespace)
    account = f"--serviceaccount={namespace}:writer"
    role = ("--clusterrole=edit", "-n", namespace)
    kubectl("create", "rolebinding", "writer", *role, account)
    # What the record of an instance and its lock need.
    rule = ("--verb=*", "--resource=leases.coordination.k8s.io,secrets")
    kubectl("create", "role", "record", *rule, "-n", namespace)
    own = ("--role=record", "-n", namespace, account)
    kubectl("create", "rolebinding", "record", *own)
    token = kubectl("create", "token", "writer", "-n", namespace).strip()
    admin = kubeconfigs.load(str(kubeconfig))
    return kubeconfigs.Kubeconfig(
        where="test", server=admin.server, ca=admin.ca, token=token
    ).to_yaml()


CONFIG_MAP = GroupKind("", "ConfigMap")


@pytest.mark.requirement("IN-1", "K2")
@pytest.mark.parametrize("text", ["certified", "with_token"])
def test_a_kubeconfig_as_text_is_used_and_leaves_no_file(
    request, namespace, make_package, make_request, monkeypatch, tmp_path, text
):
    """An instance is created and deleted with its credential.

    No file is in the folder for temporary files while the client is in use,
    and none has ever been in it.
    """
    said = request.getfixturevalue(text)
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    # Python reads the folder once.
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert str(folder) == tempfile.gettempdir()
    made = folder.stat().st_mtime_ns
    options = k8s_cr.Options(check_permissions=False)

    with contextlib.closing(
        k8s_cr.connect(kubeconfigs.parse(said, "a request"))
    ) as cluster:
        package = make_package(manifests.config_map("a"))
        k8s_cr.instantiate(make_request(cluster, options=options), package)
        assert cluster.get(ObjectRef("", "ConfigMap", namespace, "a"))
        assert [] == list(folder.iterdir())
        k8s_cr.terminate(make_request(cluster, options=options))

    assert [] == list(folder.iterdir())
    assert made == folder.stat().st_mtime_ns


@pytest.mark.requirement("K2")
@pytest.mark.parametrize("text", ["certified", "with_token"])
def test_without_its_credential_a_kubeconfig_opens_nothing(
    request, cluster, namespace, text
):
    """What the credential may read, an anonymous user may not."""
    cluster.create(manifests.config_map("a", namespace), "test")
    found = kubeconfigs.parse(request.getfixturevalue(text), "a request")
    bare = dataclasses.replace(
        found, token="", client_certificate="", client_key=""
    )

    with contextlib.closing(k8s_cr.connect(found)) as user:
        assert list(user.list_objects(CONFIG_MAP, namespace))
    with (
        contextlib.closing(k8s_cr.connect(bare)) as anonymous,
        pytest.raises((errors.Unauthenticated, errors.Forbidden)),
    ):
        list(anonymous.list_objects(CONFIG_MAP, namespace))


@pytest.mark.requirement("K2")
def test_an_unknown_token_is_refused(with_token, namespace):
    """The token is what is sent: another one is not accepted."""
    found = kubeconfigs.parse(with_token, "a request")
    wrong = dataclasses.replace(found, token="planted-unknown")

    with (
        contextlib.closing(k8s_cr.connect(wrong)) as cluster,
        pytest.raises(errors.Unauthenticated),
    ):
        list(cluster.list_objects(CONFIG_MAP, namespace))
