"""What a VIM of Tacker's database says of a cluster."""

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr.driver import vim

TOKEN = "planted-token-0815"
ACCESS = {
    "auth_url": "https://192.0.2.10:6443",
    "bearer_token": TOKEN,
    "ssl_ca_cert": "None",
    "username": "None",
    "password": None,
    "region": None,
}


def refused(**changes):
    with pytest.raises(errors.RequestInvalid) as caught:
        vim.kubeconfig({**ACCESS, **changes})
    assert TOKEN not in str(caught.value)
    return str(caught.value)


def test_a_bearer_token_is_taken():
    """The string None of Tacker's database means that there is no value."""
    found = vim.kubeconfig(ACCESS)

    assert ("https://192.0.2.10:6443", TOKEN, "", False) == (
        found.server,
        found.token,
        found.ca,
        found.insecure,
    )
    assert "VIM https://192.0.2.10:6443" == found.where


def test_a_certificate_authority_is_taken():
    """The PEM text of the VIM verifies the server."""
    pem = "-----BEGIN CERTIFICATE-----\n"

    assert pem == vim.kubeconfig({**ACCESS, "ssl_ca_cert": pem}).ca


def test_verification_is_off_by_choice_only():
    """A VIM without certificate authority is verified all the same (T9)."""
    assert vim.kubeconfig(ACCESS, insecure=True).insecure
    assert not vim.kubeconfig(ACCESS).insecure


def test_a_vim_without_token_is_refused():
    """A user and password alone are what no API server takes any more."""
    said = refused(bearer_token=None, username="u", password="planted")

    assert (
        "VIM https://192.0.2.10:6443: wanted: a VIM with a bearer token; "
        "found: a user and password"
    ) == said
    assert refused(bearer_token="").endswith("found: nothing")


def test_openid_connect_is_refused_by_name():
    """It is not mistaken for something else."""
    assert "OpenID Connect is not supported" in refused(
        oidc_token_url="https://keycloak", client_secret="planted"
    )


@pytest.mark.parametrize(
    "url",
    [
        None,
        "",
        "192.0.2.10",
        "ftp://192.0.2.10",
        f"https://u:{TOKEN}@192.0.2.10",
        f"https://192.0.2.10/?token={TOKEN}",
        "https://192.0.2.10:x",
    ],
)
def test_a_url_of_no_api_server_is_refused(url):
    """It is not shown: it may hold a credential."""
    assert (
        "VIM: auth_url is not the URL of an API server; wanted: "
        "https://HOST:PORT"
    ) == refused(auth_url=url)
