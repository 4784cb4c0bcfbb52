"""The VIMs, users and tokens of Tacker's tests."""

from __future__ import annotations

import importlib.util
import json

import pytest
import yaml

from tools.tacker import services
from tools.upstream import keycloak
from tools.upstream import vims

VIM = {
    "auth_url": "https://127.0.0.1:1",
    "bearer_token": "planted-token",
    "project_name": "default",
    "ssl_ca_cert": "planted-ca",
    "type": "kubernetes",
}
OPENID = {
    "auth_url": "https://127.0.0.1:1",
    "oidc_token_url": "https://127.0.0.1:2/token",
    "username": "u",
    "password": "planted-p",
    "client_id": "c",
    "client_secret": "planted-s",
}
FILTER = services.ON_PATH / "local_auth.py"


def test_every_vim_that_the_tests_use_is_registered():
    """Those with OpenID only when there is a provider."""
    names = [one.name for one in vims.registrations(VIM, None)]

    assert [
        "VIM0",
        "vim-kubernetes",
        "vim-kubernetes-helm",
        "VIM-tenant1",
        "vim-kubernetes-t1",
        "VIM-tenant2",
        "vim-kubernetes-t2",
    ] == names
    more = [one.name for one in vims.registrations(VIM, OPENID)]
    assert ["vim-kubernetes-oidc", "vim-kubernetes-oidc-auth"] == more[7:]


def test_every_project_has_one_default_vim():
    """Version 1 requires it."""
    found = vims.registrations(VIM, OPENID)
    projects = {one.token for one in found}

    assert sorted(projects) == sorted(o.token for o in found if o.default)


def test_a_registration_has_only_the_credentials_of_its_vim():
    """Empty ones would be taken for given."""
    *_, last = vims.registrations(VIM, OPENID)

    assert {
        "oidc_token_url",
        "username",
        "password",
        "client_id",
        "client_secret",
    } == set(last.body["vim"]["auth_cred"])


def test_the_files_of_the_tests_are_written(tmp_path):
    """Beside the one of the user, which stays."""
    folder = tmp_path / vims.FILES
    folder.mkdir(parents=True)
    (folder / "local-vim.yaml").write_text("username: nfv_user\nregion: R\n")

    vims.write(tmp_path, VIM, OPENID)

    def read(name):
        return yaml.safe_load((folder / name).read_text())

    assert VIM == read("local-k8s-vim.yaml")
    assert {"use_helm": True} == read("local-k8s-vim-helm.yaml")["extra"]
    assert OPENID == read("local-k8s-vim-oidc.yaml")
    assert {
        "username": "user_2",
        "project_name": "tenant2",
        "region": "R",
    } == read("local-tenant2-vim.yaml")
    assert "nfv_user" == read("local-vim.yaml")["username"]


@pytest.fixture
def auth():
    """The filter of tacker-server, which is on the path of its process."""
    pytest.importorskip("keystoneauth1")
    spec = importlib.util.spec_from_file_location("local_auth", FILTER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_users_of_tenants_are_members(auth):
    """All others are administrators, and so is who has no token."""
    tenant = auth.headers("user_1/tenant1")

    assert "member,reader" == tenant["HTTP_X_ROLES"]
    assert "tenant1" == tenant["HTTP_X_PROJECT_NAME"]
    assert "admin,member,reader" == auth.headers("")["HTTP_X_ROLES"]


def test_a_project_has_one_identity(auth):
    """For every caller, at any time."""
    one, other = auth.headers("a/tenant1"), auth.headers("b/tenant1")

    assert one["HTTP_X_PROJECT_ID"] == other["HTTP_X_PROJECT_ID"]
    assert one["HTTP_X_USER_ID"] != other["HTTP_X_USER_ID"]


def test_a_wrong_client_secret_is_answered_as_by_keycloak():
    """One test compares the words."""
    said = json.dumps({"error": "invalid_client", "error_description": "x"})

    assert (
        b'{"error":"unauthorized_client",'
        b'"error_description":"Invalid client secret"}'
    ) == keycloak.translated(said.encode())


@pytest.mark.parametrize(
    "said", [b'{"id_token": "planted-t"}', b"no JSON", b"[]"]
)
def test_any_other_answer_is_passed_on(said):
    """Byte for byte."""
    assert said == keycloak.translated(said)
